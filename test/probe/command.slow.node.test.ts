import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Client, isApiError } from 'virtual-accounts'
import { describe, expect, test } from 'vitest'
import { environment, fromSource, root } from '../program.ts'
import { checkInParallel } from '../support.ts'

/** `first`: JavaScript that runs before the command. */
function start(args: readonly string[], API_KEY: string | undefined = 'test_key', first = '') {
  const flags = [...fromSource, '--import', `data:text/javascript,${encodeURIComponent(first)}`]
  const env = environment({ API_KEY, NO_COLOR: undefined, FORCE_COLOR: undefined })
  return spawn(process.execPath, [...flags, join(root, 'src/cli/index.ts'), ...args], { cwd: root, env })
}

async function outputOf(child: ReturnType<typeof start>) {
  const [[status], stdout, stderr] = await Promise.all([
    once(child, 'close'),
    text(child.stdout),
    text(child.stderr),
  ])
  return { status, stdout, stderr }
}

const run = (...given: Parameters<typeof start>) => outputOf(start(...given))

const startFake = (...options: string[]) => startFakeAfter('', options)
const isTerminal = 'process.stdout.isTTY = true;'

/** Starts the command fake on any free port. */
async function startFakeAfter(first: string, options: readonly string[]) {
  const child = start(['fake', '--port', '0', ...options], undefined, first)
  let printed = ''
  child.stdout.on('data', chunk => {
    printed += chunk
  })
  await once(child.stdout, 'data')
  const introduction = printed
  const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(introduction) ?? []
  const rest = async () => {
    child.kill('SIGINT')
    await once(child, 'close')
    return printed.slice(introduction.length)
  }
  return { child, url, introduction, rest, [Symbol.dispose]: () => child.kill('SIGKILL') }
}

describe('the command fake', () => {
  test('serves a list that probe and schema accept, until it is interrupted', async () => {
    using fake = await startFake('--transactions', '150')
    expect(fake.introduction).toMatch(/^A fake service with 150 transactions: .*\nAPI key: test_key\n/)
    const account = ['--customer-id', 'c1', '--virtual-account-id', 'v1', '--write']
    const probed = await run(['probe', fake.url, ...account, '--origin', 'https://app.example.com', '--json'])
    const { verdict, findings } = JSON.parse(probed.stdout)
    expect(verdict).toBe('Nothing is broken. With a stable order, loops can prove they are complete.')
    const others = findings.filter(({ status }: { status: string }) => status !== 'ok')
    expect(others.map(({ id }: { id: string }) => id)).toEqual(['growth'])
    expect(probed).toMatchObject({ status: 0, stderr: '' })

    const { status, stdout } = await run(['schema', fake.url, '/transactions'])
    expect(stdout).toMatch(/^\/\/ From 150 items [\s\S]*\nexport function listTransactions\([\s\S]*\n}\n$/)
    expect(status).toBe(0)
    fake.child.kill('SIGINT')
    expect(await once(fake.child, 'exit')).toEqual([0, null])
  })

  test('probe announces each retry in lines of at most 80 columns', async () => {
    using fake = await startFake('--faults', 'truncate')
    const { stderr } = await run(['probe', fake.url])
    expect(stderr).toMatch(/^Next attempt in \d+ s: GET .*\n {10,}\S/)
    expect(stderr.split('\n').filter(line => line.length > 80)).toEqual([])
  })

  test('refuses what is more than its rate', async () => {
    using fake = await startFake('--rate', '5')
    expect(fake.introduction).toContain('\nRate: 5 per second. Extra requests get a 429.\n')
    const client = new Client({ baseUrl: fake.url, apiKey: 'test_key', maxRetries: 0 })
    const calls = await Promise.allSettled(Array.from({ length: 8 }, () => client.transactions.list().then()))
    const refused = calls.flatMap(call => (call.status === 'rejected' ? [call.reason] : []))
    expect(refused.length).toBeGreaterThan(0)
    for (const error of refused) expect(error).toMatchObject({ status: 429, retryAfterMs: 1_000 })
  })

  test('lets every fourth request fail, with each of its faults in turn', async () => {
    using fake = await startFake('--faults', '503,truncate,network-error,hang')
    const client = new Client({ baseUrl: fake.url, apiKey: 'test_key', maxRetries: 0, timeout: 2_000 })
    const outcomes: unknown[] = []
    for (let number = 1; number <= 20; number++) {
      const error = await client.transactions.list().then(undefined, error => error)
      if (isApiError(error)) outcomes.push(`${number} ${error.kind}`)
    }
    expect(outcomes).toEqual(['4 http', '8 connection', '12 connection', '16 timeout', '20 http'])
  })

  test('prints a line for each request, without its key and body', async () => {
    using fake = await startFake('--faults', '500,truncate')
    expect(fake.introduction).toContain('\nEvery fourth request fails, in turn with: 500, truncate\n')
    const client = new Client({ baseUrl: fake.url, apiKey: 'my_secret_key', maxRetries: 0 })
    for (let page = 1; page <= 8; page++) await client.transactions.list({ page }).catch(() => {})
    await client.request('POST', '/x', { body: { name: 'Ada' } }).catch(() => {})
    expect((await fake.rest()).trim().split('\n')).toEqual([
      ...[1, 2, 3].map(page => `GET /transactions?page=${page} → 401`),
      'GET /transactions?page=4 → 500 (fault)',
      ...[5, 6, 7].map(page => `GET /transactions?page=${page} → 401`),
      'GET /transactions?page=8 → 401, cut off (fault)',
      'POST /x → 401',
    ])
  })

  test('whose port is in use says so', async () => {
    using fake = await startFake()
    const { port } = new URL(fake.url)
    const stderr = `Port ${port} is in use: pass --port 0\n`
    expect(await run(['fake', '--port', port])).toEqual({ status: 1, stdout: '', stderr })
  })
})

test('on a terminal a report has colours and symbols, unless NO_COLOR is set', async () => {
  using fake = await startFake()
  const { stdout } = await run(['probe', fake.url], undefined, isTerminal)
  const shown = stdout.replaceAll('\x1b', '')
  expect(shown).toMatch(/^\[1m\[32mNothing is broken[^[]*\[39m\[22m\n\n\[32m✓\[39m reachable {2}/)
  expect(shown).toContain('\n[2m–[22m cors')
  expect(shown).toMatch(/\n {18}-> Loops without /)
  const plain = await run(['probe', fake.url], undefined, `${isTerminal} process.env.NO_COLOR = '1'`)
  expect(plain.stdout).toMatch(/^Nothing is broken[\s\S]*\n\nok {11}reachable/)
})

test('on a terminal the outcomes of the log of fake have colours', async () => {
  using fake = await startFakeAfter(isTerminal, ['--faults', '503'])
  const client = new Client({ baseUrl: fake.url, apiKey: 'test_key', maxRetries: 0 })
  for (const path of ['/transactions', '/nothing', '/transactions', '/transactions'])
    await client.request('GET', path).catch(() => {})
  expect((await fake.rest()).replaceAll('\x1b', '').trim().split('\n')).toEqual([
    'GET /transactions → [32m200[39m',
    'GET /nothing → [33m404[39m',
    'GET /transactions → [32m200[39m',
    'GET /transactions → [31m503[39m (fault)',
  ])
})

test('the function that schema prints lists the items, and fits 80 columns', async () => {
  using fake = await startFake('--transactions', '3')
  const { stdout } = await run(['schema', fake.url, '/transactions'])
  for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  const program = `${stdout}
    const { Client: Made } = await import('virtual-accounts')
    const client = new Made({ baseUrl: '${fake.url}', apiKey: 'test_key' })
    for await (const item of listTransactions(client, { verified: true })) console.log(item)`
  const flags = [...fromSource, '--input-type=module-typescript', '--eval', program]
  const printed = await outputOf(spawn(process.execPath, flags, { cwd: root, env: environment() }))
  expect(printed).toMatchObject({ status: 0, stderr: '' })
  expect(printed.stdout.match(/\bid: /g)).toHaveLength(3)
})

test('a probe whose output nobody reads ends quietly', async () => {
  using fake = await startFake()
  const child = start(['probe', fake.url])
  child.stdout.destroy()
  const [stderr, [status]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 })
})

test('an old Node gets a message about its version', async () => {
  const old =
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })"
  const stderr = 'virtual-accounts needs Node 22 or later; this is 20.20.2\n'
  expect(await run(['--version'], undefined, old)).toEqual({ status: 1, stdout: '', stderr })
})

test('probe and schema exit with 1 and say why if there is no list', async () => {
  using fake = await startFake()
  const probed = await run(['probe', fake.url], 'another_key')
  expect(probed.stdout).toMatch(/^No list of transactions [\s\S]*\nbroken +api-key +GET [\s\S]*HTTP 401/)
  expect(probed.status).toBe(1)
  const { status, stdout, stderr } = await run(['schema', fake.url, '/nothing'])
  expect(stderr).toMatch(/^GET \/nothing \(page 1\): HTTP 404.*\n$/)
  expect([status, stdout]).toEqual([1, ''])
})

test('an interrupted probe reactivates the account before it ends', () =>
  checkInParallel(['SIGINT', 'SIGTERM', 'SIGHUP'] as const, async signal => {
    let child: ChildProcess | undefined
    const writes: (string | undefined)[] = []
    const server = createServer((request, response) => {
      if (request.method === 'GET') {
        response.end('{"data":[],"page":1,"limit":20,"totalItems":0}')
        return
      }
      writes.push(request.url?.split('/').at(-1))
      // npx may pass on what the terminal has sent already.
      child?.kill(signal)
      child?.kill(signal)
      setTimeout(() => response.end(), 1_000)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const started = start(['probe', url, '--customer-id=c1', '--virtual-account-id=v1', '--write'])
    child = started
    expect(await outputOf(started)).toEqual({ status: 130, stdout: '', stderr: 'Interrupted.\n' })
    expect(writes).toEqual(['deactivate', 'reactivate'])
    server.close()
  }))

test('a wrong command exits with 2, and says what is wrong', () =>
  checkInParallel<[args: string[], message: string, apiKey?: string]>(
    [
      [[], 'Usage: virtual-accounts <command>'],
      [['probe'], 'probe: too few arguments. Run: virtual-accounts probe https://api.example.com\n'],
      [['probe', 'https://a.test', 'b'], 'probe: unexpected argument: b\n'],
      [
        ['probe', 'https://a.test', '--orgin=x'],
        '--orgin: unknown option. Did you mean `--origin`? Options of probe are: --allow-insecure-http, --origin,',
      ],
      [['schema', 'https://a.test', '/a', '--api-key', 'k'], 'from the environment variable API_KEY.\n'],
      [['probe', 'https://a.test', '--json=true'], '--json: expected no value, got true\n'],
      [
        ['probe', 'https://a.test', '--origin', 'a.test'],
        '--origin: expected the origin of a page, such as ',
      ],
      [['probe', 'https://me:pw@a.test/v1/transactions?page=1'], ' Try https://a.test/v1\n'],
      [['probe', 'https://a.test'], 'API_KEY: it is in quotes', '"key"'],
      [
        ['probe', 'https://a.test', '--write', '--customer-id=null', '--virtual-account-id=v1'],
        '--customer-id: expected an id',
      ],
      [
        ['probe', 'https://a.test', '--write'],
        'Pass --customer-id, --virtual-account-id and --write together',
      ],
      [['probe', 'https://a.test'], 'API_KEY is not set.', ''],
      [['probe', 'http://a.test'], ' Try https://a.test, or pass --allow-insecure-http\n'],
      [
        ['probe', 'ada:pass@a.test'],
        'probe: "...@a.test" is not an https URL, such as https://api.example.com\n',
      ],
      [['probe', 'ftp://x'], 'probe: "ftp://x" is not an https URL, such as https://api.example.com\n'],
      [
        ['schema', 'https://a.test', 'transactions'],
        'schema: path must start with "/" and have no query: try /transactions\n',
      ],
      [['fake', '4011'], 'fake: unexpected argument: 4011. Did you mean --port 4011?\n'],
      [['fake', '--rate', 'many'], '--rate: expected a number above 0, got many\n'],
      [['fake', '--rate', '0'], '--rate: expected a number above 0, got 0\n'],
      [['fake', '--port', 'abc'], '--port: expected a whole number from 0 to 65535, got abc\n'],
      [['fake', '--port', '-1'], '--port: expected a value, got -1\n'],
      [
        ['fake', '--faults', '200'],
        '--faults: expected statuses from 400 to 599, network-error, truncate or hang, got 200\n',
      ],
      [['prob'], 'prob: unknown command. Did you mean `probe`? Commands are: probe, schema, fake, help\n'],
    ],
    async ([args, message, apiKey]) => {
      const { status, stdout, stderr } = await run(args, apiKey)
      expect(stderr).toContain(message)
      expect([status, stdout]).toEqual([2, ''])
    },
  ))

test('--help and help explain every command', async () => {
  const { status, stdout } = await run(['fake', '--help'])
  expect((await run(['help'])).stdout).toBe(stdout)
  for (const name of ['probe', 'schema', 'fake', '--origin', '--faults']) expect(stdout).toContain(name)
  expect(status).toBe(0)
})
