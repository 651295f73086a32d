import { defineConfig } from '@playwright/test'
import { chromiumOptions } from '../../tools/chromium.js'

const url = `http://localhost:${process.env.PORT ?? 4180}`

/** Tests the built page in Debian's Chromium. CHROMIUM names another. */
export default defineConfig({
  testDir: 'test',
  outputDir: 'node_modules/.test-results',
  fullyParallel: true,
  workers: 2,
  reporter: 'list',
  timeout: 90_000,
  // For busy machines.
  expect: { timeout: 30_000 },
  use: {
    baseURL: url,
    viewport: { width: 1280, height: 900 },
    launchOptions: chromiumOptions,
  },
  webServer: { command: 'npm run preview', url },
})
