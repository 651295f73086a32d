import { defineConfig, mergeConfig } from 'vitest/config'
import node from './vitest.config.ts'

/**
 * What mutations are tried against: without the tests of the documents and of the built package, and without those
 * of many random cases, which take too long to be run two thousand times.
 */
export default mergeConfig(
  node,
  defineConfig({
    test: {
      // What hangs by a mutation is found soon.
      testTimeout: 8_000,
      exclude: [
        'test/{docs,readme,fuzz,walk-model-node,decimal-sum,types,examples-node}.test.ts',
        'test/sockets/process.test.ts',
      ],
    },
  }),
)
