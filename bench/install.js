// The peers, installed when they are missing or of other versions than pinned.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))

function read(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {}
}

export function install() {
  const { dependencies } = read(`${here}package.json`)
  const isThere = ([name, version]) => read(`${here}node_modules/${name}/package.json`).version === version
  if (Object.entries(dependencies).every(isThere)) return
  console.error('installing the peers: (cd bench && npm ci)')
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  // Not --prefix, with which npm ignores the machine's own npmrc.
  execFileSync(npm, ['ci', '--loglevel=error'], { cwd: here, stdio: ['ignore', 'ignore', 'inherit'] })
}
