import { defineConfig, type Options } from 'tsup'

const shared: Options = {
  format: ['esm', 'cjs'],
  target: 'es2022',
  platform: 'neutral',
  treeshake: true,
  // Users install one package: docs/decisions/bundled-dependencies.md
  noExternal: ['ky', 'zod'],
  dts: { resolve: ['@standard-schema/spec'] },
  // The code is shipped readable; maps would be four times its size.
  sourcemap: false,
}

// Two builds, as the entries share no code: so each has its types in one file that imports nothing.
export default defineConfig([
  { ...shared, entry: { index: 'src/index.ts' } },
  { ...shared, entry: { testing: 'src/testing/index.ts' } },
])
