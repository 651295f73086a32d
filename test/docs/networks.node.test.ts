import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TlsOptions } from 'node:tls'
import * as undici from 'undici'
import type { Client } from 'virtual-accounts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { account, run, service } from './guide.ts'
import { type Modules, readPage, root, snippet } from './snippets.ts'

// A service with a certificate of a private authority, and a proxy by which it is reached as api.example.com.

// Each starts processes, which take seconds on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

const withProxyAgent = snippet('networks.md', 'Proxies', 2)
const withClientCertificate = inClient(snippet('networks.md', 'Client certificates'))
/** In the text, not in a block. */
const [agentWithoutLimits = ''] = /new Agent\(\{ headersTimeout.*?\}\)/.exec(readPage('networks.md')) ?? []
const withoutLimits = inClient(`import { Agent } from 'undici'\n\nconst dispatcher = ${agentWithoutLimits}\n`)
const proxyCommand = snippet('networks.md', 'Proxies')
const authorityCommand = snippet('networks.md', 'Your own certificate authority')

let folder: string
const file = (name: string) => join(folder, name)
const ends: (() => unknown)[] = []

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'virtual-accounts-networks-'))
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=Private CA')
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-addext', 'basicConstraints=CA:FALSE']
  for (const [name, alternatives] of [
    ['server', 'DNS:api.example.com,DNS:localhost,IP:127.0.0.1'],
    ['client', 'DNS:client'],
  ]) {
    const out = ['-keyout', `${name}.key`, '-out', `${name}.pem`, '-subj', `/CN=${name}`]
    openssl('req', '-x509', ...key, ...signed, ...out, '-addext', `subjectAltName=${alternatives}`)
  }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))
// The runtime's own fetch and timers.
beforeEach(() => vi.unstubAllGlobals())
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ends.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Starts the service behind TLS. */
async function startService(options: TlsOptions = {}) {
  const identity = { key: readFileSync(file('server.key')), cert: readFileSync(file('server.pem')) }
  const server = createSecureServer({ ...identity, ...options }, async (message, reply) => {
    const method = message.method ?? 'GET'
    const headers = new Headers(message.headers as Record<string, string>)
    const body = method === 'GET' ? null : Buffer.concat(await message.toArray())
    const request = new Request(service.baseUrl + message.url, { method, headers, body })
    const response = await service.handle(request)
    reply.writeHead(response.status, Object.fromEntries(response.headers))
    reply.end(await response.text())
  })
  const port = await listen(server)
  return { url: `https://127.0.0.1:${port}`, port }
}

/** Starts a proxy that connects every host with this port, and records the hosts requested. */
async function startProxy(port: number, { credentials }: { credentials?: string } = {}) {
  const targets: string[] = []
  const proxy = createServer((_message, reply) => reply.writeHead(405).end())
  proxy.on('connect', (message, socket) => {
    targets.push(message.url ?? '')
    const expected = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`
    if (message.headers['proxy-authorization'] !== expected) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
      return
    }
    const target = net.connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      target.pipe(socket).pipe(target)
    })
    for (const end of [target, socket]) {
      end.on('error', () => {})
      end.on('close', () => {
        target.destroy()
        socket.destroy()
      })
    }
    ends.push(() => target.destroy())
  })
  return { host: `127.0.0.1:${await listen(proxy)}`, targets }
}

/** Runs a command of the guide in a shell. Its app.js lists transactions, and prints how many there are, or the error. */
function runCommand(command: string, env: Record<string, string> = {}, baseUrl = service.baseUrl) {
  writeFileSync(
    file('app.js'),
    `import { Client } from 'virtual-accounts'
    const client = new Client({ baseUrl: '${baseUrl}', apiKey: '${service.apiKey}', maxRetries: 0 })
    const page = await client.transactions.list().catch(error => error)
    console.log(page.totalItems ?? page.message)`,
  )
  writeFileSync(file('package.json'), '{ "type": "module" }')
  const fromSource = join(root, 'tools/from-source.js')
  return new Promise<string>(resolve => {
    const PATH = `${dirname(process.execPath)}:${process.env.PATH}`
    const NODE_OPTIONS = `--import ${fromSource} --disable-warning=ExperimentalWarning`
    const options = { cwd: folder, env: { ...process.env, PATH, NODE_OPTIONS, ...env } }
    execFile('sh', ['-c', command], options, (_error, stdout) => resolve(stdout.trim()))
  })
}

/** Runs a block with undici, and returns its client. */
async function runBlock(code: string): Promise<Client> {
  const modules: Modules = {
    'node:fs': () => ({ readFileSync: (name: string) => readFileSync(file(name)) }),
  }
  return (await run(code, modules)).client
}

/** A block that makes a dispatcher, with the client of the guide's first block. */
function inClient(code: string): string {
  const client = withProxyAgent.slice(withProxyAgent.indexOf('const client'))
  const imports = `import { Client } from 'virtual-accounts'\n`
  return imports + code.replace('{ Agent }', '{ Agent, fetch }') + client
}

describe('a proxy', () => {
  test('is used as the environment says, with user and password', async () => {
    const { port } = await startService()
    const { host, targets } = await startProxy(port, { credentials: 'user:password' })
    const command = proxyCommand.replace('proxy.example.com:3128', `user:password@${host}`)
    const env = { NODE_EXTRA_CA_CERTS: file('ca.pem') }
    expect(await runCommand(command, env)).toBe('250')
    expect(targets).toEqual(['api.example.com:443'])
  })

  test('is not used for hosts in NO_PROXY', async () => {
    const { port, url } = await startService()
    const { host, targets } = await startProxy(port)
    const command = proxyCommand.replace('proxy.example.com:3128', host)
    const env = { NODE_EXTRA_CA_CERTS: file('ca.pem'), NO_PROXY: '127.0.0.1' }
    expect(await runCommand(command, env, url)).toBe('250')
    expect(targets).toEqual([])
  })

  /** The guide's block with the test's proxy and authority. */
  const through = (host: string) =>
    withProxyAgent.replace(
      `'http://proxy.example.com:3128'`,
      `{ uri: 'http://${host}', requestTls: { ca: '${readFileSync(file('ca.pem'), 'latin1').replaceAll('\n', '\\n')}' } }`,
    )

  test('is used by one client, and sees neither the key nor the data', async () => {
    const { port } = await startService()
    const { host, targets } = await startProxy(port)
    const client = await runBlock(through(host))
    await client.virtualAccounts.deactivate(account)
    expect(service.isActive(account)).toBe(false)
    expect(new Set(targets)).toEqual(new Set(['api.example.com:443']))
  })

  const failures = [
    ['refuses', 'the request could not be sent', true],
    ['is down', 'could not connect', false],
  ] as const

  async function startFailing(how: 'refuses' | 'is down'): Promise<string> {
    const { port } = await startService()
    return how === 'refuses' ? (await startProxy(port, { credentials: 'a:b' })).host : '127.0.0.1:1'
  }

  test.for(failures)(
    'that %s ends the call of an agent with "%s", and nothing was sent',
    async ([how, problem, outcomeUnknown]) => {
      const client = await runBlock(through(await startFailing(how)))
      const error = await client.virtualAccounts.deactivate(account, { maxRetries: 0 }).catch(error => error)
      expect(error).toMatchObject({ kind: 'connection', outcomeUnknown })
      expect(error.message).toContain(problem)
      expect(service.requests).toEqual([])
    },
  )

  test.for(failures)('from the environment that %s ends the call with "%s", too', async ([how, problem]) => {
    const command = proxyCommand.replace('proxy.example.com:3128', await startFailing(how))
    expect(await runCommand(command)).toContain(problem)
    expect(service.requests).toEqual([])
  })

  test('that refuses gets one request', async () => {
    const client = await runBlock(through(await startFailing('refuses')))
    await expect(client.transactions.list()).rejects.toMatchObject({ kind: 'connection', attempts: 1 })
  })
})

describe('a certificate of a private authority', () => {
  test('is refused by default', async () => {
    const { url } = await startService()
    expect(await runCommand('node app.js', {}, url)).toMatch(
      /the TLS certificate of \S+, or of a proxy, was rejected/,
    )
    expect(service.requests).toEqual([])
  })

  test('is accepted with NODE_EXTRA_CA_CERTS', async () => {
    const { url } = await startService()
    expect(await runCommand(authorityCommand, {}, url)).toBe('250')
  })
})

describe('a service that requires a client certificate', () => {
  const start = () =>
    startService({ requestCert: true, rejectUnauthorized: true, ca: readFileSync(file('ca.pem')) })

  test('receives the client certificate', async () => {
    const { url } = await start()
    const client = await runBlock(withClientCertificate.replace('https://api.example.com', url))
    await client.transactions.list()
    expect(service.requests).toHaveLength(1)
  })

  test('ends the connection without it, which looks like a lost one', async () => {
    const { url } = await start()
    const client = await runBlock(withClientCertificate.replace('https://api.example.com', url))
    const dispatcher = new undici.Agent({ connect: { ca: readFileSync(file('ca.pem')) } })
    const without = client.withOptions({ fetch: (url, init) => undici.fetch(url, { ...init, dispatcher }) })
    const error = await without.virtualAccounts.deactivate(account, { maxRetries: 0 }).catch(error => error)
    expect(error).toMatchObject({ kind: 'connection', outcomeUnknown: true })
    expect(error.message).toContain('no readable response')
    expect(service.isActive(account)).toBe(true)
  })
})

/** The guide's block for a service on this machine, with the test's authority. */
const onThisMachine = (code: string, url: string) => {
  const authority = JSON.stringify(readFileSync(file('ca.pem'), 'latin1'))
  return code
    .replace('https://api.example.com', url)
    .replace('new Agent({', `new Agent({ connect: { ca: ${authority} },`)
}

describe('the limits of undici', () => {
  const slowService = async (delayMs = 300) => {
    const started = await startService()
    const respond = service.handle.bind(service)
    vi.spyOn(service, 'handle').mockImplementation(async request => {
      const response = await respond(request)
      await new Promise(resolve => setTimeout(resolve, delayMs))
      return response
    })
    return started
  }

  test('do not end a slow request when they are off', async () => {
    const { url } = await slowService()
    const client = await runBlock(onThisMachine(withoutLimits, url))
    expect(await client.transactions.list()).toMatchObject({ totalItems: 250 })
  })

  test('end it with a ConnectionError, whatever `timeout` says', async () => {
    const { url } = await slowService(1_500)
    const limited = withoutLimits
      .replace('headersTimeout: 0', 'headersTimeout: 100')
      .replace('baseUrl:', 'maxRetries: 0, timeout: 600_000, baseUrl:')
    const client = await runBlock(onThisMachine(limited, url))
    const error = await client.transactions.list().catch(error => error)
    expect(error).toMatchObject({ kind: 'connection' })
    expect(error.message).toContain('UND_ERR_HEADERS_TIMEOUT')
  })

  test('when off, leave `timeout` in force', async () => {
    const { url } = await slowService()
    const client = await runBlock(onThisMachine(withoutLimits, url))
    const error = await client.transactions.list({}, { timeout: 100, maxRetries: 0 }).catch(error => error)
    expect(error).toMatchObject({ kind: 'timeout', timeoutMs: 100 })
  })
})
