import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { cyclonedxEsbuildPlugin } from '@cyclonedx/cyclonedx-esbuild'
import type { Plugin as EsbuildPlugin } from 'esbuild'
import { defineConfig } from 'tsup'

type Plugin = NonNullable<
  Extract<Parameters<typeof defineConfig>[0], { plugins?: unknown }>['plugins']
>[number]

/** Rewrites Rollup's code between files. No module here has side effects or changes an export later. */
const plainModules: Plugin = {
  name: 'plain-modules',
  buildEnd({ writtenFiles }) {
    for (const { name } of writtenFiles) {
      if (!/\.c?js$/.test(name)) continue
      const code = readFileSync(name, 'utf8')
        .replace(/^(?:import |require\()'\.\/chunk-\w+\.c?js'\)?;\n/gm, '')
        // Jest mocks and spies on properties that it can replace, not on getters.
        .replace(
          /^Object\.defineProperty\(exports, "(\w+)", \{\n {2}enumerable: true,\n {2}get: function \(\) \{ return ([\w.]+); \}\n\}\);/gm,
          'exports.$1 = $2;',
        )
      const isEmpty = /^\s*(?:'use strict';)?\s*$/.test(code)
      if (isEmpty) rmSync(name)
      else if (name.endsWith('.cjs'))
        writeFileSync(
          name,
          code.replace(
            "'use strict';",
            "'use strict';\nObject.defineProperty(exports, '__esModule', { value: true });",
          ),
        )
      else writeFileSync(name, code)
    }
  },
}

/**
 * Modules that no call reaches, and their exports. `attempt.ts` turns off ky's retries, time limits and HTTP errors, passes
 * no hooks, schema or progress callbacks, and a `fetch` that never rejects. Zod's schemas are used only through `~standard`.
 */
const unreachable = {
  'ky/distribution/core/retry-timing.js': 'calculateRetryTimingDelay getRetryTimingHeader',
  'ky/distribution/errors/ForceRetryError.js': 'ForceRetryError',
  'ky/distribution/errors/HTTPError.js': 'HTTPError',
  'ky/distribution/errors/KyError.js': 'KyError',
  'ky/distribution/errors/NetworkError.js': 'NetworkError',
  'ky/distribution/errors/NonError.js': 'NonError',
  'ky/distribution/errors/SchemaValidationError.js': 'SchemaValidationError',
  'ky/distribution/errors/TimeoutError.js': 'TimeoutError',
  'ky/distribution/utils/body.js': 'getBodySize streamRequest streamResponse',
  'ky/distribution/utils/delay.js': 'default',
  'ky/distribution/utils/is-network-error.js': 'default',
  'ky/distribution/utils/timeout.js': 'default',
  'ky/distribution/utils/type-guards.js':
    'isForceRetryError isHTTPError isKyError isNetworkError isTimeoutError',
  'zod/v4/mini/parse.js':
    'decode decodeAsync encode encodeAsync parse parseAsync safeDecode safeDecodeAsync safeEncode safeEncodeAsync safeParse safeParseAsync validate validateAsync',
}

/** Leaves unreachable modules out of the bundle. Their exports throw. */
const withoutUnreachable: EsbuildPlugin = {
  name: 'without-unreachable',
  setup({ onLoad, onEnd }) {
    for (const [module, names] of Object.entries(unreachable)) {
      let isFound = false
      const filter = new RegExp(`/node_modules/${module}$`.replaceAll('/', '[\\\\/]'))
      onLoad({ filter }, async ({ path }) => {
        isFound = true
        const found = Object.keys(await import(pathToFileURL(path).href)).join(' ')
        if (found !== names)
          return { errors: [{ text: `${module} now exports ${found}. Check that no call reaches them` }] }
        const exported = names.split(' ').map(name => `unreachable as ${name}`)
        return {
          contents: `export { ${exported} } from './tools/unreachable.js'`,
          resolveDir: import.meta.dirname,
        }
      })
      onEnd(() => (isFound ? {} : { errors: [{ text: `${module} is not found` }] }))
    }
  },
}

export default defineConfig([
  {
    // The client and the errors have separate files, so a page that only needs `isApiError` loads no client.
    entry: {
      index: 'src/index.ts',
      testing: 'src/testing/index.ts',
      probe: 'src/probe/index.ts',
      client: 'src/client.ts',
      errors: 'src/errors.ts',
    },
    format: ['esm', 'cjs'],
    target: 'es2022',
    platform: 'neutral',
    splitting: true,
    treeshake: true,
    // Users install one package, and ky cannot change under them.
    noExternal: ['ky', 'zod'],
    define: {
      // Without it, ky creates no AbortController for its own time limits, which are off. That would take a quarter of a call's
      // CPU, and the `Request` of jsdom rejects its signal.
      'globalThis.AbortController': 'undefined',
      // Without these, ky has no code for streams and forms, which the client never sends.
      'globalThis.ReadableStream': 'undefined',
      'globalThis.FormData': 'undefined',
    },
    plugins: [plainModules],
    esbuildPlugins: [
      withoutUnreachable,
      // Lists the bundled packages, which npm and scanners cannot see.
      cyclonedxEsbuildPlugin({
        outputFile: 'sbom.cdx.json',
        mcType: 'library',
        outputReproducible: true,
        logLevel: 'silent',
      }),
    ],
    dts: {
      entry: { index: 'src/index.ts', testing: 'src/testing/index.ts', probe: 'src/probe/index.ts' },
      resolve: ['@standard-schema/spec'],
    },
  },
  {
    // The command line imports the package by its name, as users do.
    entry: { cli: 'src/cli/index.ts' },
    format: ['esm'],
    target: 'es2022',
    platform: 'neutral',
    external: [/^node:/, /^virtual-accounts\//],
    removeNodeProtocol: false,
    dts: false,
    // Nobody debugs the command.
    minify: true,
  },
])
