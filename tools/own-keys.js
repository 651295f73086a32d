import { readFile } from 'node:fs/promises'

const inherited = /for \(const (\w+) in (table|computes)\)/g

/**
 * Lets zod install its members from own properties only. A page whose scripts extend `Object.prototype` would otherwise
 * break every schema as it is created.
 */
export const ownKeys = {
  name: 'own-keys',
  setup(build) {
    build.onLoad({ filter: /zod[\\/]v4[\\/]core[\\/]util\.js$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8')
      const contents = source.replace(inherited, 'for (const $1 of Object.keys($2))')
      if (contents === source) throw new Error(`${path}: zod has changed, look for its loops over members`)
      return { contents, loader: 'js' }
    })
  },
}
