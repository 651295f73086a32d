// The packed package in every runtime that it is for: the cases of cases.js, and the examples for that runtime.
// Usage: npm run test:runtimes, after `npm ci` in this folder. Node 22 or later runs this file itself.

import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { assert, installPacked } from '../checks.js'
import { startFakeServer } from '../fake-server.js'
import { startServers } from './server.js'
import { startWorker } from './workerd.js'

const here = import.meta.dirname
const root = join(here, '../..')
const project = mkdtempSync(join(tmpdir(), 'virtual-accounts-runtimes-'))

// A program that does not end by itself is a fault, too.
const patienceMs = 90_000
const execute = (command, args, env = {}) =>
  promisify(execFile)(command, args, {
    cwd: project,
    // Deno takes any FORCE_COLOR, even 0, as a yes that outweighs NO_COLOR.
    env: { ...process.env, FORCE_COLOR: undefined, NO_COLOR: '1', ...env },
    timeout: patienceMs,
  })

const { platform, arch } = process
const nodes = {
  26: join(here, `node_modules/node-26-${platform}-${arch}/bin/node`),
  24: join(root, 'node_modules/.bin/node'),
  22: join(here, `node_modules/node-22-${platform}-${arch}/bin/node`),
}
const bun = join(here, `node_modules/@oven/bun-${platform}-${arch === 'arm64' ? 'aarch64' : arch}/bin/bun`)
const deno = join(here, `node_modules/@deno/${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}/deno`)
// From node_modules alone, and with no more rights than a client needs.
const denoRun = ['run', '--no-prompt', '--no-lock', '--cached-only', '--no-remote']
const denoNet = '--allow-net=127.0.0.1,does-not-exist.invalid'

// tellsCodes: whether the errors of its fetch say by a code what failed; docs/runtimes.md has the table.
// A line's runtimes run in parallel, as they mostly wait.
const runtimes = [
  ...Object.values(nodes).map(node => bothWays('Node', node)),
  bothWays('Bun', bun),
  [{ name: 'Deno', ...program(deno, [...denoRun, denoNet, 'main.js']), how: 'import', tellsCodes: false }],
  [
    { name: 'workerd', ...worker('2026-07-30'), how: 'as of 2026-07-30', tellsCodes: false },
    // The earliest date that works: docs/runtimes.md.
    { name: 'workerd', ...worker('2022-11-30'), how: 'as of 2022-11-30', tellsCodes: false },
  ],
]

const examples = {
  'examples/runtimes/command.js on Bun': (file, env) => execute(bun, [file], env),
  'examples/runtimes/command.js on Deno': (file, env) =>
    execute(deno, [...denoRun, denoNet, '--allow-env=BASE_URL,API_KEY', file], env),
  'examples/runtimes/worker.js on workerd': runExampleWorker,
}

function bothWays(name, command) {
  return [
    { name, ...program(command, ['main.js']), how: 'import', tellsCodes: true },
    { name, ...program(command, ['main.cjs']), how: 'require', tellsCodes: true },
  ]
}

/** A runtime that is a program. */
function program(command, args) {
  return {
    version: async () => {
      if (!existsSync(command)) throw new Error(`${command} is missing: see the top of test/runtimes/run.js`)
      const { stdout } = await execute(command, ['--version'])
      return /\d+\.\d+\.\d+/.exec(stdout)[0]
    },
    run: async settings => {
      const { stdout, stderr } = await execute(command, [...args, JSON.stringify(settings)])
      const lines = stdout.trimEnd().split('\n')
      return { results: JSON.parse(lines.pop()), printed: [...lines, stderr].join('\n') }
    },
  }
}

/** workerd, which behaves as it did on the given date. */
function worker(compatibilityDate) {
  return {
    version: async () => {
      const { version } = JSON.parse(readFileSync(join(here, 'node_modules/workerd/package.json'), 'utf8'))
      return version
    },
    run: async settings => {
      const printed = []
      const print = text => printed.push(text)
      const { url, stop } = await startWorker(join(project, 'worker.js'), { compatibilityDate, print })
      const ask = async path => {
        const signal = AbortSignal.timeout(patienceMs)
        const response = await fetch(url + path, { method: 'POST', body: JSON.stringify(settings), signal })
        const text = await response.text()
        if (!response.ok) throw new Error(text)
        return JSON.parse(text)
      }
      try {
        const results = await ask('')
        const totals = await Promise.all(['shared', 'shared', 'shared'].map(ask))
        const problem = totals.join() === '95,95,95' ? undefined : `got ${totals}`
        results.push({ name: 'one client serves several requests to a Worker at a time', problem })
        return { results, printed: printed.join('\n') }
      } finally {
        await stop()
      }
    },
  }
}

async function runExampleWorker(file, bindings) {
  const { url, stop } = await startWorker(join(project, file), { bindings })
  try {
    const counts = Object.entries(await (await fetch(url)).json())
    const stdout = counts.map(([currency, count]) => `${currency} ${count}\n`).join('')
    const { idempotencyKey } = await (await fetch(url, { method: 'POST' })).json()
    return { stdout: `${stdout}${idempotencyKey}` }
  } finally {
    await stop()
  }
}

let failed = 0
let runs = 0

async function check(name, examine) {
  try {
    console.log(`✓ ${await examine()}`)
  } catch (error) {
    failed++
    console.error(`✗ ${name}: ${[error.message, error.stdout, error.stderr].filter(Boolean).join('\n')}`)
  }
}

/** What a user has: the package in a project, and programs that use it. */
async function prepare() {
  installPacked(root, project, { type: 'module' })
  for (const file of ['cases.js', 'main.js', 'worker.js']) cpSync(join(here, file), join(project, file))
  cpSync(join(root, 'examples'), join(project, 'examples'), { recursive: true })
  // The same cases, but the package is required.
  const required = { bundle: true, packages: 'external', platform: 'node', format: 'cjs', logLevel: 'error' }
  await build({ ...required, entryPoints: [join(here, 'main.js')], outfile: join(project, 'main.cjs') })
}

async function checkRuntime({ name, how, version, run, tellsCodes }, urls) {
  await check(`${name} (${how})`, async () => {
    const title = `${name} ${await version()} (${how})`
    const { results, printed } = await run({ urls, tellsCodes, run: `run${++runs}` })
    const broken = results.filter(({ problem }) => problem !== undefined)
    const told = broken.map(({ name, problem }) => `\n  ${name}\n    ${problem}`)
    assert(results.length > 0, 'no case was run')
    assert(broken.length === 0, `${broken.length} of ${results.length} cases${told.join('')}`)
    assert(printed.includes('HttpError'), `what was printed is not all there:\n${printed}`)
    assert(!printed.includes('key-of-the-runtimes'), `the key was printed:\n${printed}`)
    return `${title}: ${results.length} cases`
  })
}

async function checkExample(name, run, { service, url }) {
  await check(name, async () => {
    service.reset()
    const counts = new Map()
    for (const { currency } of service.transactions) counts.set(currency, (counts.get(currency) ?? 0) + 1)
    const [file] = name.split(' ')
    const { stdout } = await run(file, { BASE_URL: url, API_KEY: service.apiKey })
    for (const [currency, count] of counts) assert(stdout.includes(`${currency} ${count}\n`), stdout)
    assert(!service.isActive({ customerId: 'c1', virtualAccountId: 'v1' }), 'the account is still active')
    return name
  })
}

const servers = await startServers()
const fake = await startFakeServer()
try {
  await prepare()
  for (const line of runtimes) await Promise.all(line.map(runtime => checkRuntime(runtime, servers.urls)))
  for (const [name, run] of Object.entries(examples)) await checkExample(name, run, fake)
} finally {
  await Promise.all([servers.close(), fake.close()])
  rmSync(project, { recursive: true, force: true })
}
process.exitCode = failed === 0 ? 0 : 1
