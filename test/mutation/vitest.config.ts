import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import everyday, { slow } from '../../vitest.config.ts'

/** Documents and whole programs: too slow to be run for each of thousands of mutations. */
const tooSlow = [slow, 'test/docs/**', 'test/database/**', 'test/simulation/deliberate-bugs.node.test.ts']

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

// Stryker runs every project that it finds.
const { projects: _, ...test } = everyday.test ?? {}

export default defineConfig({
  ...everyday,
  test: {
    ...test,
    exclude: [...(test.exclude ?? []), ...tooSlow],
    sequence: { sequencer: FastestFirst },
    // Stryker notes which test runs which code.
    maxConcurrency: 1,
    // A mutation that hangs is found soon.
    testTimeout: 8_000,
    provide: { casesFactor: 0.02 },
  },
})
