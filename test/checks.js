// What the scripts that check the packed package have in common.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Runs a check, and prints its result. The next one runs even after a failure. The script then exits with 1. */
export async function check(name, examine) {
  const began = performance.now()
  const seconds = () => `${((performance.now() - began) / 1000).toFixed(1)} s`
  try {
    await examine()
    console.log(`✓ ${name} (${seconds()})`)
  } catch (error) {
    process.exitCode = 1
    const { stdout, stderr, stack } = error
    console.error(`✗ ${name} (${seconds()})\n${[stdout, stderr].join('') || stack}`)
  }
}

export function assert(condition, found) {
  if (!condition) throw new Error(found)
}

/** Runs a file of JavaScript on this Node, without a shell. */
export function run(file, args, { cwd, env = {} }) {
  const options = { cwd, encoding: 'utf8', stdio: 'pipe', env: { ...process.env, ...env } }
  return execFileSync(process.execPath, [file, ...args], options)
}

/** Not npm-cli.js, whose path varies. */
export const npmCommand = process.platform === 'win32' ? 'npm.cmd' : 'npm'

function npm(args, cwd) {
  return execFileSync(npmCommand, [...args, '--loglevel=error'], { cwd, encoding: 'utf8' })
}

/** Packs what is built, installs it in an empty project, and returns what npm says of the package. */
export function installPacked(root, project, manifest = {}) {
  const [packed] = JSON.parse(
    npm(['pack', '--json', '--ignore-scripts', '--pack-destination', project], root),
  )
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, ...manifest }))
  npm(['install', join(project, packed.filename), '--no-audit', '--no-fund'], project)
  return packed
}
