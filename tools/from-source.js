// Lets a program import this package from src, with no build before it: node --import ./tools/from-source.js …
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
    // What src imports is named as it will be when it is built.
    const isOurs = specifier.startsWith('.') && context.parentURL?.startsWith(source)
    return nextResolve(
      entries[specifier] ?? (isOurs ? specifier.replace(/\.js$/, '.ts') : specifier),
      context,
    )
  },
})
