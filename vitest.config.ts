import { fileURLToPath } from 'node:url'
import { playwright } from '@vitest/browser-playwright'
import { msw } from 'msw/vite'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { chromiumOptions } from './tools/chromium.js'
import './tools/needs-node.js'

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** With `TESTED=dist`, the package is tested as it was built. */
const isBuilt = process.env.TESTED === 'dist'
const resolve = {
  alias: [
    {
      find: /^virtual-accounts\/(testing|probe)$/,
      replacement: source(isBuilt ? 'dist/$1.js' : 'src/$1/index.ts'),
    },
    { find: /^virtual-accounts$/, replacement: source(isBuilt ? 'dist/index.js' : 'src/index.ts') },
  ],
}

/** Programs that are run as users run them, and the like: seconds each. */
export const slow = 'test/**/*.slow.node.test.ts'

/** These need the packages of test. The links of all pages do not. */
const documentation = ['test/docs/!(pages).node.test.ts', 'test/database/*.node.test.ts']

/** `casesFactor` scales how many random cases are tried: test/cases.ts. */
const projects: TestProjectInlineConfiguration[] = [
  { extends: true, test: { name: 'fast', exclude: [slow, ...documentation], provide: { casesFactor: 0.1 } } },
  { extends: true, test: { name: 'all', exclude: documentation, provide: { casesFactor: 0.5 } } },
  {
    // Not as the others, whose `include` it would have, too.
    extends: false,
    resolve,
    test: { name: 'docs', include: ['test/docs/*.node.test.ts'], restoreMocks: true, testTimeout: 200_000 },
  },
  {
    extends: false,
    resolve,
    test: { name: 'database', include: ['test/database/*.node.test.ts'], testTimeout: 600_000 },
  },
  {
    // Debian's Chromium; MSW is a service worker there.
    extends: true,
    test: {
      name: 'browser',
      exclude: ['test/**/*.node.test.ts'],
      provide: { casesFactor: 0.1 },
      // On a busy machine a request arrives twice, rarely: resent by Chromium, or after its service worker failed.
      retry: 1,
      browser: {
        enabled: true,
        headless: true,
        screenshotFailures: false,
        provider: playwright({ launchOptions: chromiumOptions }),
        instances: [{ browser: 'chromium' }],
      },
    },
  },
]

export default defineConfig({
  plugins: [msw()],
  resolve,
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['**/node_modules/**'],
    setupFiles: 'test/hide-newer.js',
    restoreMocks: true,
    // Loading what every file imports again and again would take half of the time. Tests put back what they replace.
    isolate: false,
    // Only a hang should end a test: a busy machine can be ten times slower.
    testTimeout: 200_000,
    // One less than there are cores is the default: one of two would idle.
    maxWorkers: '100%',
    projects,
  },
})
