// `npm run test:docs` begins with this.
import { existsSync } from 'node:fs'

if (!existsSync(new URL('../node_modules', import.meta.url))) {
  console.error('Run `npm ci` in test first.')
  process.exit(1)
}
