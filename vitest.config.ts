import { fileURLToPath } from 'node:url'
import { msw } from 'msw/vite'
import { defineConfig } from 'vitest/config'

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig({
  plugins: [msw()],
  resolve: {
    alias: [
      { find: /^virtual-accounts\/testing$/, replacement: source('src/testing/index.ts') },
      { find: /^virtual-accounts$/, replacement: source('src/index.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/runtimes/**', 'test/consumers/**'],
    restoreMocks: true,
    // Some send 50 MB, or run a thousand cases, on machines that are busy with more.
    testTimeout: 20_000,
    coverage: { include: ['src/**'] },
  },
})
