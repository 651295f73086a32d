import { defineConfig } from '@playwright/test'

const url = 'http://localhost:4180'

/** The built page in Debian's Chromium; another one by CHROMIUM=… */
export default defineConfig({
  testDir: 'test',
  outputDir: 'node_modules/.test-results',
  fullyParallel: true,
  workers: 2,
  reporter: 'list',
  timeout: 90_000,
  // Machines that are busy with more.
  expect: { timeout: 30_000 },
  use: {
    baseURL: url,
    viewport: { width: 1280, height: 900 },
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    },
  },
  webServer: { command: 'npm run preview', url },
})
