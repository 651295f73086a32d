// Serves the built site to this machine only. VitePress has no option for the host, but passes its port to Node's `listen`,
// which accepts both.
import { existsSync } from 'node:fs'
import { serve } from 'vitepress'

if (!existsSync(`${import.meta.dirname}/.vitepress/dist`)) {
  console.error('Build the site first: npm run docs')
  process.exit(1)
}

const port = 4173
await serve({ root: import.meta.dirname, port: { host: '127.0.0.1', port, toString: () => `${port}` } })
