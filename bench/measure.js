// One measurement, in a process of its own: `node measure.js <case as JSON>` prints what came of it as JSON.
// What is measured when, and why, is said in README.md.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { loadPeer } from './entries.js'
import { itemText, limit, pageOf } from './services.js'

const here = fileURLToPath(new URL('.', import.meta.url))

/** Wall and CPU time of this process, all its threads. */
async function timed(work) {
  const cpuBefore = process.cpuUsage()
  const began = performance.now()
  await work()
  const wallMs = performance.now() - began
  const { user, system } = process.cpuUsage(cpuBefore)
  return { wallMs, cpuMs: (user + system) / 1000 }
}

const measurements = {
  async walk(peer, { origin, items, concurrency }) {
    const client = await peer.connect(origin, { concurrency })
    let seen = 0
    const times = await timed(() =>
      client.walk(item => {
        if (item.currency !== null) seen++
      }),
    )
    if (seen !== items) throw new Error(`${seen} of ${items} items seen`)
    return times
  },

  /** Whether each item came once, and whether single calls work. */
  async smoke(peer, { origin, items, concurrency }) {
    const client = await peer.connect(origin, { concurrency })
    const ids = []
    await client.walk(({ id, token }) => ids.push(id ?? token))
    const distinct = new Set(ids).size
    if (ids.length !== items || distinct !== items) {
      throw new Error(`${ids.length} items seen, ${distinct} of them distinct, instead of ${items}`)
    }
    await client.get()
    await client.post()
    return {}
  },

  async call(peer, { origin, method, calls }) {
    const client = await peer.connect(origin)
    const send = client[method]
    const times = async count => {
      for (let call = 0; call < count; call++) await send()
    }
    await times(calls / 4)
    return timed(() => times(calls))
  },

  /** One long page, from a fetch that needs no network: what a call costs is next to nothing beside its items. */
  async validation(peer, { items, repetitions }) {
    const { body, headers } = pageOf(peer.service, { start: 0, total: items, size: items })
    const init = { headers: { 'content-type': 'application/json', ...headers } }
    const stub = async () => new Response(body, init)
    const client = await peer.connect('https://a.test', { fetch: stub, size: items })
    const times = async count => {
      for (let page = 0; page < count; page++) await client.page()
    }
    await times(repetitions / 4)
    return timed(() => times(repetitions))
  },

  /** A walk of a list that changes while it is read: each change removes an item and inserts another elsewhere. */
  async verified(peer, { items, size, verified, changes, delayMs }) {
    const list = Array.from({ length: items }, (_, index) => index)
    let requests = 0
    let changed = 0
    const change = () => {
      changed++
      // Evenly spread, and the same in every run.
      const place = step => Math.floor(((changed * step) % 1) * list.length)
      list.splice(place(0.618034), 1)
      list.splice(place(0.414214), 0, items + changed)
    }
    const fetch = async url => {
      await new Promise(resolve => setTimeout(resolve, delayMs))
      // As many requests apart as a plain walk has for each.
      if (changed < changes && requests >= ((changed + 0.5) * items) / size / changes) change()
      requests++
      const query = new URL(url).searchParams
      const pageSize = Number(query.get('limit'))
      const start = (Number(query.get('page')) - 1) * pageSize
      const texts = list.slice(start, start + pageSize).map(index => itemText(index))
      const facts = { data: `[${texts.join(',')}]`, start, total: list.length, size: pageSize }
      return new Response(peer.service.page(facts), { headers: { 'content-type': 'application/json' } })
    }
    const client = await peer.connect('https://a.test', { fetch, size, verified })
    const ids = new Set()
    let seen = 0
    const times = await timed(() =>
      client.walk(({ id }) => {
        ids.add(id)
        seen++
      }),
    )
    if (ids.size !== seen || seen < items - changes) throw new Error(`${seen} of ${items} items seen`)
    return { ...times, requests }
  },

  import(peer, { isBare }) {
    const use = isBare ? '' : "new Request('https://a.test')"
    const code = `${peer.entry}\n;${use}\nconst { user, system } = process.cpuUsage()\nconsole.log(user + system)`
    const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', code], { cwd: here })
    return { cpuMs: Number(printed) / 1000 }
  },

  async size(peer, { platform }) {
    const { build } = await import('esbuild')
    const { rolldown } = await import('rolldown')
    const common = { bundle: true, minify: true, format: 'esm', write: false, logLevel: 'silent' }
    const stdin = { contents: peer.entry, resolveDir: here }
    const { outputFiles } = await build({ ...common, platform, stdin })
    const entry = join(here, 'entry.js')
    const virtual = {
      name: 'entry',
      resolveId: id => (id === entry ? id : null),
      load: id => (id === entry ? peer.entry : null),
    }
    const bundle = await rolldown({ input: entry, platform, plugins: [virtual], logLevel: 'silent' })
    const { output } = await bundle.generate({ format: 'esm', minify: true })
    await bundle.close()
    return { esbuild: sizes(outputFiles[0].text), rolldown: sizes(output.map(({ code }) => code).join('')) }
  },

  footprint(_peer, { packages }) {
    const project = mkdtempSync(join(tmpdir(), 'bench-footprint-'))
    try {
      writeFileSync(join(project, 'package.json'), '{ "private": true }')
      const wanted = packages.map(name => (name.startsWith('virtual-accounts@') ? pack(project) : name))
      npm(['install', '--ignore-scripts', '--prefer-offline', ...wanted], project)
      const modules = join(project, 'node_modules')
      const lock = JSON.parse(readFileSync(join(modules, '.package-lock.json')))
      return { packages: Object.keys(lock.packages).length, bytes: bytesIn(modules) }
    } finally {
      rmSync(project, { recursive: true })
    }
  },

  async memory(peer, { origin, items, concurrency }) {
    const client = await peer.connect(origin, { concurrency })
    let seen = 0
    let heapBytes = 0
    await client.walk(() => {
      if (++seen % 10_000 === 0) heapBytes = Math.max(heapBytes, process.memoryUsage().heapUsed)
    })
    if (seen !== items) throw new Error(`${seen} of ${items} items seen`)
    return { heapBytes, residentBytes: process.resourceUsage().maxRSS * 1024 }
  },
}

function sizes(code) {
  return { minified: Buffer.byteLength(code), gzip: gzipSync(code, { level: 9 }).length }
}

function npm(args, cwd) {
  const command = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const quiet = ['--loglevel=error', '--no-audit', '--no-fund']
  return execFileSync(command, [...args, ...quiet], { cwd, encoding: 'utf8', stdio: 'pipe' })
}

/** Ours, as it would be published. */
function pack(project) {
  const folder = join(project, 'packed')
  mkdirSync(folder)
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const [{ filename }] = JSON.parse(npm(args, join(here, '..')))
  return join(folder, filename)
}

function bytesIn(path) {
  if (!statSync(path).isDirectory()) return statSync(path).size
  return readdirSync(path).reduce((sum, name) => sum + bytesIn(join(path, name)), 0)
}

const one = JSON.parse(process.argv[2])
const measured = await measurements[one.kind](await loadPeer(one.peer), { size: limit, ...one })
process.stdout.write(JSON.stringify(measured), () => process.exit())
