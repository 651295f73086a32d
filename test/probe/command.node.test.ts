import { type ChildProcess, execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { FakeService, type ProbeReport, sampleTransactions } from 'virtual-accounts/testing'
import { afterEach, expect, test } from 'vitest'
import { changeHeaders, changePages, type Deviation, type FakeFetch } from './service.js'

const root = join(import.meta.dirname, '../..')
const apiKey = 'key_of_the_command'
let server: Server | undefined

afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

/** An HTTP server in front of a fake service that deviates. */
async function serve(...deviations: Deviation[]): Promise<{ url: string; service: FakeService }> {
  let fetch: FakeFetch
  server = createServer(async (message, reply) => {
    const { method = 'GET', url = '/', headers } = message
    const body = method === 'GET' ? null : Buffer.concat(await message.toArray())
    const sent = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
    const response = await fetch(service.baseUrl + url, { method, headers: sent, body })
    reply.writeHead(response.status, Object.fromEntries(response.headers))
    reply.end(Buffer.from(await response.arrayBuffer()))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const service = new FakeService({ baseUrl, apiKey, transactions: sampleTransactions(250) })
  fetch = deviations.reduce((fetch, deviate) => deviate(fetch), service.fetch)
  return { url: baseUrl, service }
}

function run(
  args: string[],
  env: NodeJS.ProcessEnv = { API_KEY: apiKey },
  onStart: (child: ChildProcess) => void = () => {},
) {
  // Node 22 calls type stripping an experiment.
  const node = [
    '--disable-warning=ExperimentalWarning',
    '--import',
    './tools/from-source.js',
    'src/cli.ts',
    ...args,
  ]
  return new Promise<{ status: number; stdout: string; stderr: string }>(resolve => {
    const options = { cwd: root, env: { ...process.env, API_KEY: undefined, ...env } }
    const child = execFile(process.execPath, node, options, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr })
    })
    onStart(child)
  })
}

test('reports three deviations, and no others', async () => {
  const { url } = await serve(
    changePages(page => ({
      ...page,
      data: page.data.map(item => ({ ...item, amount: String(item.amount) })),
    })),
    changePages(page => (page.page > 13 ? { ...page, data: [{ id: 'a' }] } : page)),
    changeHeaders(headers => headers.set('Age', '60')),
  )
  const { status, stdout, stderr } = await run(['probe', url])
  expect(stdout.split('\n').filter(line => line.startsWith('broken'))).toEqual([
    'broken       Items                amount: string instead of number; amount:',
    'broken       totalItems           250, but page 14 has 1 item',
    'broken       Caches               a cache responded instead of the service',
  ])
  expect(stdout).toContain('\n3 broken: ')
  expect(stderr).toBe('At most 18 requests, one at a time; read-only.\n')
  expect(status).toBe(1)
})

test('prints JSON, and status 0 when nothing is broken', async () => {
  const { url, service } = await serve()
  const account = ['--customer-id', 'c1', '--virtual-account-id', 'v1']
  const { status, stdout, stderr } = await run(['probe', url, ...account, '--write', '--json'])
  const { findings, requests } = JSON.parse(stdout) as ProbeReport
  expect(findings.filter(({ status }) => status === 'broken')).toEqual([])
  expect(findings.find(({ id }) => id === 'deactivate')?.status).toBe('ok')
  expect(service.requests).toHaveLength(requests)
  expect(service.isActive({ customerId: 'c1', virtualAccountId: 'v1' })).toBe(true)
  expect(stderr).toBe('At most 24 requests, one at a time; deactivates and reactivates the test account.\n')
  expect(status).toBe(0)
})

test('reactivates the account when it is interrupted', async () => {
  let child: ChildProcess | undefined
  const { url, service } = await serve(fetch => async (input, init) => {
    const response = await fetch(input, init)
    if (String(input).endsWith('/deactivate')) child?.kill('SIGINT')
    return response
  })
  const args = ['--customer-id', 'c1', '--virtual-account-id', 'v1', '--write']
  const { status, stderr } = await run(['probe', url, ...args], undefined, started => {
    child = started
  })
  const writes = service.requests.filter(({ method }) => method === 'POST').map(({ path }) => path)
  expect(writes.map(path => path.split('/').at(-1))).toEqual(['deactivate', 'reactivate'])
  expect(stderr).toContain('Interrupted. If the test account was deactivated, it is reactivated.\n')
  expect(status).toBe(2)
})

test('writes nothing without --write, even if an account is named', async () => {
  const { url, service } = await serve()
  const { status, stderr } = await run(['probe', url, '--customer-id', 'c1', '--virtual-account-id', 'v1'])
  expect(new Set(service.requests.map(({ method }) => method))).toEqual(new Set(['GET']))
  expect(stderr).toContain('Read-only: add --write to deactivate and reactivate the test account.')
  expect(status).toBe(0)
})

test.each<[args: string[], message: string, env?: NodeJS.ProcessEnv]>([
  [[], 'Usage: npx virtual-accounts probe <baseUrl>'],
  [['probe'], 'Usage: npx virtual-accounts probe <baseUrl>'],
  [['probe', 'https://a.test', 'https://b.test'], 'Usage: npx virtual-accounts probe <baseUrl>'],
  [['probe', 'https://a.test', '--api-key=secret'], "Unknown option '--api-key'"],
  [
    ['probe', 'https://a.test'],
    'API_KEY is not set. In bash or zsh run: read -rs API_KEY && export API_KEY',
    {},
  ],
  [['probe', 'http://a.test'], 'baseUrl: expected https'],
  [['probe', 'https://a.test', '--origin', 'app'], 'origin: expected the origin of a page'],
  [
    ['probe', 'https://a.test', '--customer-id', 'c1'],
    '--customer-id and --virtual-account-id: expected both',
  ],
  [
    ['probe', 'https://a.test', '--write'],
    '--write needs a test account: pass --customer-id and --virtual-account-id',
  ],
])('explains what is wrong with %j', async (args, message, env) => {
  const { status, stdout, stderr } = await run(args, env)
  expect(stderr).toContain(message)
  expect(stderr).not.toContain('secret')
  expect(stdout).toBe('')
  expect(status).toBe(2)
})

test('prints its usage', async () => {
  const { status, stdout } = await run(['--help'])
  expect(stdout).toMatch(/^Usage: npx virtual-accounts probe <baseUrl>/)
  expect(status).toBe(0)
})
