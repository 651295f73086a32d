// Removes hashes from the names of shared declaration files, because editors show these names at "Go to definition".
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const dist = join(import.meta.dirname, '../dist')
const shared = /^([a-z-]+)-[\w-]{8}(\.d\.c?ts)$/
const unhashed = /\b([a-z-]+)-[\w-]{8}(\.c?js['"])/g

for (const file of readdirSync(dist).filter(name => /\.d\.c?ts$/.test(name))) {
  const path = join(dist, file)
  writeFileSync(path, readFileSync(path, 'utf8').replace(unhashed, '$1$2'))
  renameSync(path, join(dist, file.replace(shared, '$1$2')))
}
