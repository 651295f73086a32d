// The package in the projects of users: packs what is built, installs it in projects made for the purpose, builds
// each with its own tool, and runs what comes out: on Node, and as a page in Chromium.
// Usage: node test/consumers/run.js, after `npm run build` and `npm ci` in test.
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { build as esbuild } from 'esbuild'
import { chromium } from 'playwright'
import { build as vite } from 'vite'
import webpack from 'webpack'
import { chromiumOptions } from '../../tools/chromium.js'
import { assert, check, installPacked, run } from '../checks.js'
import { startServers } from './server.js'

const here = import.meta.dirname
const root = join(here, '../..')
// Beside the tools, so that a project finds them as if it had installed them.
const made = mkdtempSync(join(here, 'made-'))
const installed = join(made, 'node_modules/virtual-accounts')
const requireHere = createRequire(import.meta.url)

/** A copy of one of the projects of this folder, to build in. */
function project(name, as = name) {
  const folder = join(made, as)
  cpSync(join(here, name), folder, { recursive: true })
  return folder
}

// ---- what the bundlers make of a page, each a folder to be served

/** No bundler: the files of the package beside those of the page. */
function withoutBundler() {
  const folder = project('page', 'page-as-it-is')
  cpSync(join(installed, 'dist'), join(folder, 'virtual-accounts'), { recursive: true })
  renameSync(join(folder, 'installed.js'), join(folder, 'bundled.js'))
  return folder
}

async function withVite() {
  const folder = project('page', 'page-by-vite')
  await vite({ root: folder, configFile: false, logLevel: 'warn' })
  return join(folder, 'dist')
}

async function withEsbuild() {
  const folder = project('page', 'page-by-esbuild')
  const outdir = join(folder, 'dist')
  const options = { bundle: true, minify: true, format: 'esm', logLevel: 'warning' }
  await esbuild({ entryPoints: [join(folder, 'bundled.js')], outdir, ...options })
  cpSync(join(folder, 'index.html'), join(outdir, 'index.html'))
  return outdir
}

async function withWebpack() {
  const folder = project('page', 'page-by-webpack')
  await webpacked({ context: folder, entry: './bundled.js', output: { filename: 'bundled.js' } })
  cpSync(join(folder, 'index.html'), join(folder, 'dist/index.html'))
  return join(folder, 'dist')
}

async function webpacked({ context, output, ...options }) {
  const compiler = webpack({
    mode: 'production',
    context,
    output: { path: join(context, 'dist'), ...output },
    // Without its advice on entries over 244 KiB, because the page includes the fake service.
    performance: false,
    ...options,
  })
  const stats = await new Promise((resolve, reject) =>
    compiler.run((error, stats) => (error ? reject(error) : resolve(stats))),
  )
  await new Promise(resolve => compiler.close(resolve))
  const { errors, warnings } = stats.toJson({ errors: true, warnings: true })
  assert(errors.length + warnings.length === 0, stats.toString('errors-warnings'))
}

// ---- pages in Chromium

/** Opens a folder's page, and tells what it found and what the console, the policy and the runtime had to say. */
async function visit({ browser, servers }, folder, query) {
  const state = servers.show(folder)
  const page = await browser.newPage()
  const said = []
  page.on('console', message => said.push(`${message.type()}: ${message.text()}`))
  page.on('pageerror', error => said.push(`uncaught: ${error}`))
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`the page sent no results; it said: ${said.join('\n')}`)),
      30_000,
    )
  })
  try {
    await page.goto(`${servers.pages}/${query}`)
    const { results, violations } = await Promise.race([state.results.promise, late])
    return { results, said, violations: [...violations, ...state.seen.violations] }
  } finally {
    clearTimeout(timer)
    await page.close()
  }
}

/** Every case passed, `count` cases ran, and nothing was blocked. */
function assertHeld({ results, violations }, count) {
  const broken = results.filter(({ error }) => error !== undefined)
  assert(broken.length === 0, broken.map(({ name, error }) => `${name}: ${error}`).join('\n'))
  assert(results.length === count, `${results.length} cases ran`)
  assert(violations.length === 0, violations.join('\n'))
}

async function checkPages(world) {
  await check('the policy of the pages is in force, and breaking it is noticed', async () => {
    const folder = project('page', 'page-that-evaluates')
    renameSync(join(folder, 'evaluating.js'), join(folder, 'bundled.js'))
    const { violations, said } = await visit(world, folder, '')
    assert(
      violations.some(found => found.startsWith('require-trusted-types-for')),
      violations.join('\n'),
    )
    assert(said.length > 0, 'the console said nothing')
  })

  for (const [name, make] of [
    ['dist/index.js as it is', withoutBundler],
    ['a bundle by Vite', withVite],
    ['a bundle by esbuild', withEsbuild],
    ['a bundle by webpack', withWebpack],
  ]) {
    let folder
    await check(`${name} is made`, async () => {
      folder = await make()
    })
    if (folder === undefined) continue
    await check(
      `a page with ${name}: 8 cases, under a strict policy, and not a line in the console`,
      async () => {
        const visited = await visit(world, folder, '?quiet')
        assertHeld(visited, 8)
        assert(visited.said.length === 0, visited.said.join('\n'))
      },
    )
    await check(`a page with ${name}: 3 cases of refusal, and only the browser says so`, async () => {
      const visited = await visit(world, folder, '?refused')
      assertHeld(visited, 3)
      const strange = visited.said.filter(
        line => !/^error: (Failed to load resource|Access to fetch at)/.test(line),
      )
      assert(strange.length === 0, strange.join('\n'))
    })
  }
}

// ---- programs for Node

async function checkPrograms({ servers }) {
  await check('Jest with no configuration runs tests that require, mock and spy on the entries', () => {
    run(join(here, '../node_modules/jest/bin/jest.js'), ['--ci'], { cwd: project('jest') })
  })

  const folder = project('node')
  const runProgram = async file => {
    const { stdout } = await started(file, [`${servers.service}/exposing`], {}).ended
    assert(stdout === 'listed 250\n', stdout)
  }
  await check('a program for Node by esbuild, as CommonJS', async () => {
    const outfile = join(folder, 'by-esbuild.cjs')
    const options = { bundle: true, platform: 'node', format: 'cjs', logLevel: 'warning' }
    await esbuild({ entryPoints: [join(folder, 'main.js')], outfile, ...options })
    await runProgram(outfile)
  })
  await check('a program for Node by webpack', async () => {
    await webpacked({
      context: folder,
      target: 'node',
      entry: './main.js',
      output: { filename: 'by-webpack.cjs' },
    })
    await runProgram(join(folder, 'dist/by-webpack.cjs'))
  })
}

async function checkNext({ servers }) {
  const next = requireHere.resolve('next/dist/bin/next')
  const folder = project('next')
  const env = {
    NEXT_TELEMETRY_DISABLED: '1',
    SERVICE_URL: `${servers.service}/exposing`,
    API_KEY: 'test_key',
  }
  let isBuilt = false
  await check('Next.js builds a route handler, and a page that awaits a list', () => {
    run(next, ['build'], { cwd: folder, env })
    isBuilt = true
  })
  if (!isBuilt) return
  await check('the route handler of Next.js lists every transaction, and its page shows one', async () => {
    const server = started(next, ['start', '--hostname', '127.0.0.1', '--port', '0'], { cwd: folder, env })
    try {
      const [url] = await server.said(/http:\/\/127\.0\.0\.1:\d+/)
      const textOf = async path => {
        const response = await fetch(`${url}${path}`)
        return `${response.status} ${await response.text()}`
      }
      const route = await textOf('/api/transactions')
      assert(route === '200 {"count":250}', route)
      const page = await textOf('/')
      assert(page.includes('<p>40 of 250</p>'), page)
    } finally {
      server.stop()
    }
  })
}

/** Runs a file as a child process. This process serves it. */
function started(file, args, { cwd = made, env = {} }) {
  const child = spawn(process.execPath, [file, ...args], { cwd, env: { ...process.env, ...env } })
  let stdout = ''
  let stderr = ''
  child.stderr.on('data', chunk => (stderr += chunk))
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code =>
      code === 0
        ? resolve({ stdout })
        : reject(Object.assign(new Error(`it ended with ${code}`), { stdout, stderr })),
    )
  })
  ended.catch(() => {})
  let told = () => {}
  child.stdout.on('data', chunk => {
    stdout += chunk
    told()
  })
  return {
    ended,
    said: pattern =>
      Promise.race([
        ended.then(() => Promise.reject(new Error(`it ended, and said: ${stdout}`))),
        new Promise(resolve => {
          told = () => pattern.test(stdout) && resolve(stdout.match(pattern))
          told()
        }),
      ]),
    stop: () => child.kill(),
  }
}

let browser
let servers
try {
  installPacked(root, made)
  servers = await startServers(await import(join(installed, 'dist/testing.js')))
  await checkPrograms({ servers })
  await checkNext({ servers })
  browser = await chromium.launch(chromiumOptions)
  await checkPages({ browser, servers })
} finally {
  await browser?.close()
  servers?.close()
  rmSync(made, { recursive: true, force: true })
}
