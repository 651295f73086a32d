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
  console.error('installing the peers: npm ci --prefix bench')
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  execFileSync(npm, ['ci', '--prefix', here, '--loglevel=error'], { stdio: ['ignore', 'ignore', 'inherit'] })
}
