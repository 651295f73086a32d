import { fileURLToPath } from 'node:url'
import { playwright } from '@vitest/browser-playwright'
import { msw } from 'msw/vite'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { chromiumOptions } from './tools/chromium.js'
import './tools/needs-node.js'

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** `TESTED=dist` tests the built package. */
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

/** Tests that take seconds each, such as programs run as users run them. */
export const slow = 'test/**/*.slow.node.test.ts'

/** Tests that need the packages of `test`. The check of all links does not. */
const documentation = ['test/docs/!(pages).node.test.ts', 'test/database/*.node.test.ts']

/** `casesFactor` scales how many random cases are tried: test/cases.ts. */
const projects: TestProjectInlineConfiguration[] = [
  { extends: true, test: { name: 'fast', exclude: [slow, ...documentation], provide: { casesFactor: 0.1 } } },
  { extends: true, test: { name: 'all', exclude: documentation, provide: { casesFactor: 0.5 } } },
  {
    // Does not extend the base config, or it would inherit its `include`.
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
    // In Debian's Chromium, where MSW is a service worker.
    extends: true,
    test: {
      name: 'browser',
      exclude: ['test/**/*.node.test.ts'],
      provide: { casesFactor: 0.1 },
      // On a busy machine, a request can arrive twice. Chromium resends it, or its service worker failed.
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
    // Loading shared imports for every file would take half of the time. Tests restore everything they replace.
    isolate: false,
    // Only a hang should end a test, because a busy machine can be ten times slower.
    testTimeout: 200_000,
    // The default is one less than the number of cores. With two cores, one would idle.
    maxWorkers: '100%',
    projects,
  },
})
