// One measurement in its own process. `node measure.js <case as JSON>` prints the result as JSON. README.md explains it.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { loadPeer, own } from './kinds.js'
import { indexAfter } from './services.js'

const here = import.meta.dirname

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
  async walk(peer, { items, changes = 0, ...options }) {
    const client = await peer.connect(options)
    let seen = 0
    // A loop that misses no item reads the original items before they are removed.
    const isCounted = changes > 0 ? ({ id }) => indexAfter(id) <= items : ({ currency }) => currency !== null
    const times = await timed(() =>
      client.walk(item => {
        if (isCounted(item)) seen++
      }),
    )
    if (changes > 0) return { ...times, missed: items - seen }
    if (seen !== items) throw new Error(`${seen} of ${items} items read`)
    return times
  },

  /** Whether each item is read once, and whether single calls work. */
  async smoke(peer, { items, ...options }) {
    const client = await peer.connect(options)
    const ids = []
    await client.walk?.(({ id }) => indexAfter(id) <= items && ids.push(id))
    const distinct = new Set(ids).size
    if (client.walk && (ids.length !== items || distinct !== items)) {
      throw new Error(`${ids.length} items read, ${distinct} of them distinct, instead of ${items}`)
    }
    await client.get()
    await client.post()
    return {}
  },

  async call(peer, { method, calls, ...options }) {
    const client = await peer.connect(options)
    const repeat = async count => {
      for (let call = 0; call < count; call++) await client[method]()
    }
    await repeat(calls / 4)
    return timed(() => repeat(calls))
  },

  /** Sends all writes at once, or `concurrency` at a time. Some may fail. */
  async limit(peer, { writes, concurrency = writes, ...options }) {
    const client = await peer.connect(options)
    let started = 0
    let succeeded = 0
    const post = async () => {
      while (started++ < writes) {
        await client.post().then(
          () => succeeded++,
          () => {},
        )
      }
    }
    const times = await timed(() => Promise.all(Array.from({ length: concurrency }, post)))
    return { ...times, succeeded }
  },

  import(peer, { isBare }) {
    const use = isBare ? '' : "new Request('https://a.test')"
    const code = `${isBare ? '' : peer.entry}\n;${use}\nconst { user, system } = process.cpuUsage()\nconsole.log(user + system)`
    const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', code], { cwd: here })
    return { cpuMs: Number(printed) / 1000 }
  },

  async size({ entry }) {
    const { build } = await import('esbuild')
    const { rolldown } = await import('rolldown')
    const stdin = { contents: entry, resolveDir: here }
    const common = { bundle: true, minify: true, format: 'esm', write: false, logLevel: 'silent' }
    const { outputFiles } = await build({ ...common, platform: 'browser', stdin })
    const input = join(here, 'entry.js')
    const virtual = {
      name: 'entry',
      resolveId: id => (id === input ? id : null),
      load: id => (id === input ? entry : null),
    }
    const bundle = await rolldown({ input, platform: 'browser', plugins: [virtual], logLevel: 'silent' })
    const { output } = await bundle.generate({ format: 'esm', minify: true })
    await bundle.close()
    return {
      esbuild: compressed(outputFiles[0].text),
      rolldown: compressed(output.map(({ code }) => code).join('')),
    }
  },

  footprint(_peer, { packages }) {
    const project = mkdtempSync(join(tmpdir(), 'bench-footprint-'))
    try {
      writeFileSync(join(project, 'package.json'), '{ "private": true }')
      const wanted = packages.map(name => (name.startsWith(`${own}@`) ? pack(project) : name))
      npm(['install', '--ignore-scripts', '--prefer-offline', ...wanted], project)
      const modules = join(project, 'node_modules')
      const lock = JSON.parse(readFileSync(join(modules, '.package-lock.json')))
      return { packages: Object.keys(lock.packages).length, bytes: bytesIn(modules) }
    } finally {
      rmSync(project, { recursive: true })
    }
  },

  async memory(peer, { items, ...options }) {
    const client = await peer.connect(options)
    let seen = 0
    let heapBytes = 0
    await client.walk(() => {
      if (++seen % 10_000 === 0) heapBytes = Math.max(heapBytes, process.memoryUsage().heapUsed)
    })
    if (seen !== items) throw new Error(`${seen} of ${items} items read`)
    return { heapBytes }
  },
}

function compressed(code) {
  return gzipSync(code, { level: 9 }).length
}

function npm(args, cwd) {
  const command = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const quiet = ['--loglevel=error', '--no-audit', '--no-fund']
  return execFileSync(command, [...args, ...quiet], { cwd, encoding: 'utf8', stdio: 'pipe' })
}

/** Packs this package as it would be published. */
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
const measured = await measurements[one.kind](await loadPeer(one.peer), one)
process.stdout.write(JSON.stringify(measured), () => process.exit())
