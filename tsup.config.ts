import { cyclonedxEsbuildPlugin } from '@cyclonedx/cyclonedx-esbuild'
import { defineConfig } from 'tsup'

export default defineConfig([
  {
    // The client and the errors have files of their own, so that a page that only needs `isApiError` loads no client.
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
    // Names what is bundled, which npm and scanners cannot see.
    esbuildPlugins: [
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
    // Nobody steps through it.
    minify: true,
  },
])
