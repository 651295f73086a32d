// Lets a program import this package from src, without a build: node --import ./tools/from-source.js …
import module from 'node:module'
import './needs-node.js'

const source = new URL('../src/', import.meta.url).href
const entries = {
  'virtual-accounts': `${source}index.ts`,
  'virtual-accounts/testing': `${source}testing/index.ts`,
  'virtual-accounts/probe': `${source}probe/index.ts`,
}

module.registerHooks({
  resolve(specifier, context, nextResolve) {
    // Imports in src name the built files.
    const isOurs = specifier.startsWith('.') && context.parentURL?.startsWith(source)
    return nextResolve(
      entries[specifier] ?? (isOurs ? specifier.replace(/\.js$/, '.ts') : specifier),
      context,
    )
  },
})
