import { playwright } from '@vitest/browser-playwright'
import { defineConfig, mergeConfig } from 'vitest/config'
import { chromiumOptions } from './tools/chromium.js'
import node from './vitest.config.ts'

/** The tests that need nothing of Node, in Debian's Chromium; MSW is a service worker there. */
export default mergeConfig(
  node,
  defineConfig({
    test: {
      exclude: ['test/sockets/**', 'test/*-node.test.ts', 'test/docs.test.ts', 'test/readme.test.ts'],
      browser: {
        enabled: true,
        headless: true,
        screenshotFailures: false,
        provider: playwright({
          launchOptions: chromiumOptions,
        }),
        instances: [{ browser: 'chromium' }],
      },
    },
  }),
)
