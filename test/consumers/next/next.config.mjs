import { join } from 'node:path'

/** Where the packages are: the project is made in a folder below that of Next itself. */
export default { turbopack: { root: join(import.meta.dirname, '../../..') } }
