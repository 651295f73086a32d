// Installs the peers if they are missing or their versions differ from the pinned ones.
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
  console.error('Installing the peers: (cd bench && npm ci)')
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  // Without --prefix, because npm would then ignore the machine's npmrc.
  execFileSync(npm, ['ci', '--loglevel=error'], { cwd: here, stdio: ['ignore', 'ignore', 'inherit'] })
}
