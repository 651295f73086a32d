// Says in one line what to install. TypeScript would list every missing type.
import { existsSync } from 'node:fs'

const missing = ['site', 'examples/react-table'].filter(
  folder => !existsSync(new URL(`../${folder}/node_modules`, import.meta.url)),
)
if (missing.length > 0) {
  console.error(`Install first: ${missing.map(folder => `(cd ${folder} && npm ci)`).join(' && ')}`)
  process.exit(1)
}
