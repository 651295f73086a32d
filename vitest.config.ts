import { fileURLToPath } from 'node:url'
import { playwright } from '@vitest/browser-playwright'
import { msw } from 'msw/vite'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { chromiumOptions } from './tools/chromium.js'
import './tools/needs-node.js'

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** Programs that are run as users run them, and the like: seconds each. */
const slow = ['test/**/*.slow.node.test.ts', 'test/guides/{sync-to-database,networks,compile}-node.test.ts']

const needsNode = [
  'test/**/*.node.test.ts',
  'test/guides/**',
  'test/*-node.test.ts',
  'test/{docs,readme}.test.ts',
]

/** Documents and whole programs: too slow to be run for each of thousands of mutations. */
const notForMutations = [
  ...slow,
  'test/*.test.ts',
  'test/guides/**',
  'test/simulation/deliberate-bugs.node.test.ts',
]

/** `casesFactor` scales how many random cases are tried: test/cases.ts. */
const projects: TestProjectInlineConfiguration[] = [
  { extends: true, test: { name: 'fast', exclude: [...slow, documentation], provide: { casesFactor: 0.1 } } },
  { extends: true, test: { name: 'all', exclude: [documentation], provide: { casesFactor: 1 } } },
  {
    // Not as the others, whose `include` it would have, too.
    extends: false,
    resolve,
    test: { name: 'docs', include: ['test/docs/*.node.test.ts'], restoreMocks: true, testTimeout: 20_000 },
  },
  {
    // Debian's Chromium; MSW is a service worker there.
    extends: true,
    test: {
      name: 'browser',
      exclude: needsNode,
      provide: { casesFactor: 1 },
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

/** Stryker stops at the first test that fails: those that notice most come first, those that wait for real come last. */
class FastestFirst extends BaseSequencer {
  readonly #first = /\/test\/(client|errors)\/(?!.*\.node\.test)/
  readonly #last = /\/test\/http\/.*\.node\.test/

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) =>
      Number(this.#last.test(moduleId)) - Number(this.#first.test(moduleId))
    return files.toSorted((a, b) => rank(a) - rank(b))
  }
}

const mutations: TestProjectInlineConfiguration = {
  extends: true,
  test: {
    name: 'mutations',
    exclude: notForMutations,
    // Loading what every file imports again and again would double the time.
    isolate: false,
    // Stryker notes which test runs which code.
    maxConcurrency: 1,
    // A mutation that hangs is found soon.
    testTimeout: 8_000,
    provide: { casesFactor: 0.02 },
  },
}

export default defineConfig({
  plugins: [msw()],
  resolve,
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['**/node_modules/**'],
    restoreMocks: true,
    // Some send 50 MB, or run a thousand cases, on machines that are busy with more.
    testTimeout: 20_000,
    // One less than there are cores is the default: one of two would idle.
    maxWorkers: '100%',
    projects,
  },
})
