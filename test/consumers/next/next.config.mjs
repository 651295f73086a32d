import { join } from 'node:path'

/** The repository: Next itself is in test/node_modules, and test/tsconfig.json extends the one of the root. */
export default { turbopack: { root: join(import.meta.dirname, '../../../..') } }
