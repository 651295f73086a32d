import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Client, isApiError } from 'virtual-accounts'
import { type FakeServiceOptions, sampleTransactions } from 'virtual-accounts/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startFakeServer } from '../../examples/fake-server.js'
import { aligned, duration, grouped, pace, wrapped } from '../../examples/terminal.js'

// The programs of examples/, each run as a user does: a process of its own, in a folder of its own, started as
// `npm run example` starts it.

const root = join(import.meta.dirname, '../..')
const fromSource = ['--import', new URL('../../tools/from-source.js', import.meta.url).href]

let folder: string
const ends: (() => unknown)[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'virtual-accounts-examples-'))
})
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
  rmSync(folder, { recursive: true, force: true })
})

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs an example to its end. */
function run(
  example: string,
  env: Record<string, string> = {},
  flags: string[] = [],
  given: string[] = [],
): Promise<Ended> {
  const options = { cwd: folder, env: { ...process.env, NO_COLOR: '1', ...env } }
  const args = [...fromSource, ...flags, resolve(root, 'examples', example), ...given]
  return new Promise(end => {
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      end({ code: Number(error?.code ?? 0), stdout, stderr })
    })
  })
}

/** Starts an example, and resolves when it has printed a line that matches. */
async function startUntil(line: RegExp, example: string, env: Record<string, string>) {
  const child = spawn(process.execPath, [...fromSource, join(root, 'examples', example)], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  ends.push(() => kill(child))
  for await (const text of createInterface({ input: child.stdout })) {
    const match = line.exec(text)
    if (match) return { child, match }
  }
  throw new Error(`${example} ended without a line like ${line}`)
}

/** As a power cut does: the program cannot tidy up. */
async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

async function serve(options: Omit<FakeServiceOptions, 'baseUrl'>) {
  const { service, url, close } = await startFakeServer({ port: 0, ...options })
  ends.push(close)
  return { service, env: { BASE_URL: url, API_KEY: service.apiKey } }
}

test('npm run example is what these tests run', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  expect(scripts.example).toBe('node --import ./tools/from-source.js')
})

/** A terminal of 80 columns shows it as it is meant. */
function expectToFit(text: string) {
  expect(text.split('\n').filter(line => line.length > 80)).toEqual([])
}

describe.each([
  'demo.js',
  'list-transactions.js',
  'handle-errors.js',
  'export-csv.js',
  'resume-after-crash.js',
  'fake-server.js',
  'proxy.js',
  'scaling/estimate.js',
  'scaling/measure.js',
])('%s', example => {
  test.each(['--help', '-h'])('prints what it does, and does nothing, with %s', async flag => {
    const { code, stdout, stderr } = await run(example, { PORT: '0' }, [], [flag])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`npm run ${example === 'demo.js' ? 'demo' : `example examples/${example}`}`)
    expectToFit(stdout)
    expect(readdirSync(folder)).toEqual([])
  })

  test('names an argument that it does not take, and does nothing', async () => {
    for (const given of [['--halp'], ['one', 'two']]) {
      const { code, stdout, stderr } = await run(example, { PORT: '0' }, [], given)
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(/^Un(known option '--halp'|expected argument '(one|two)').* See --help\.\n$/)
    }
    expect(readdirSync(folder)).toEqual([])
  })
})

test('what the examples write into a clone is ignored by git', () => {
  const output = 'examples/export-parallel/transactions.ndjson'
  expect(readFileSync(join(root, 'examples/export-parallel/index.js'), 'utf8')).toContain(output)
  const files = ['transactions.csv', 'transactions.csv.part', 'import/transactions.jsonl', output]
  const ignored = execFileSync('git', ['check-ignore', ...files], { cwd: root, encoding: 'utf8' })
  expect(ignored.trimEnd().split('\n')).toEqual(files)
})

describe('what the examples print', () => {
  test.each([
    [1234567.5, '1,234,567.5'],
    ['12345678901234567890.25', '12,345,678,901,234,567,890.25'],
    [-1000, '-1,000'],
    [0.0625, '0.0625'],
  ])('%s has its digits in groups, and all of them', (value, expected) => {
    expect(grouped(value)).toBe(expected)
  })

  test('amounts have their decimal points below each other', () => {
    expect(aligned([4841890, 97.76, 163.4])).toEqual(['4,841,890   ', '       97.76', '      163.4 '])
  })

  test.each([
    [0.2, '1 s'],
    [119, '119 s'],
    [4130, '69 min'],
    [86_400, '24 h'],
    [1e7, '116 days'],
  ])('%d seconds to wait are %s', (seconds, expected) => {
    expect(duration(seconds)).toBe(expected)
  })

  test('there is no estimate before a hundredth is done', () => {
    expect(pace({ done: 1, total: 100_000, seconds: 0.04 })).toBe('')
    expect(pace({ done: 999, total: 100_000, seconds: 0.04 })).toBe('')
    expect(pace({ done: 1000, total: 100_000, seconds: 1 })).toBe('1,000 a second, 99 s left')
    expect(pace({ done: 0, total: 0, seconds: 0 })).toBe('')
  })

  test('lines break neither in code nor between a number and its unit', () => {
    const filler = 'x'.repeat(70)
    for (const whole of [
      '90 s.',
      '1,250 ms',
      '(1 attempt).',
      '`maxRetries: 0`',
      'list({ page: 1, limit: 50 }),',
      '{"error":{"message":"no such account"}}',
      "onMissedItems: 'continue'.",
    ]) {
      expect(wrapped(`${filler} after ${whole} End`).split('\n')).toEqual([`${filler} after`, `${whole} End`])
    }
    expect(wrapped(`${filler} HTTP 429, rate limited`).split('\n')[0]).toBe(`${filler} HTTP 429,`)
  })
})

describe('demo', () => {
  const ofFake = { BASE_URL: '', API_KEY: '', ALLOW_WRITES: '' }

  test('prints the six lines of code that it runs, and what they found', async () => {
    const { code, stdout, stderr } = await run('demo.js', ofFake)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const [, source = ''] =
      /async function sumByCurrency\(.*\n((?: {2}.*\n){6}) {2}return/.exec(
        readFileSync(join(root, 'examples/demo.js'), 'utf8'),
      ) ?? []
    expect(source).toContain('for await')
    expect(stdout).toContain(source)
    for (const transaction of sampleTransactions(5000).slice(0, 20))
      expect(stdout).toContain(transaction.currency)
    expectToFit(stdout)
  })

  test('compares one page at a time with four in parallel', async () => {
    const { stdout } = await run('demo.js', ofFake)
    const barOf = (label: string) => new RegExp(`${label} +(█+)░* +\\d+\\.\\d\\d s`).exec(stdout)?.[1]?.length
    expect(barOf('one page at a time')).toBe(24)
    expect(barOf('4 in parallel \\(default\\)')).toBeLessThan(24)
  })

  test('shows that a write whose response is lost is applied once, and a message that helps', async () => {
    const { stdout } = await run('demo.js', ofFake)
    expect(stdout).toContain('✓ The service received 2 requests with 1 idempotency key: deactivated once.')
    expect(stdout).toMatch(/HTTP 401[\s\S]*\(1 attempt\)\. Check that apiKey belongs/)
  })

  test('names files and commands to open next, all of which exist', async () => {
    const { stdout } = await run('demo.js', ofFake)
    const next = stdout.slice(stdout.lastIndexOf('Next'))
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    for (const [, script] of next.matchAll(/npm run (\S+)/g)) expect(scripts).toHaveProperty(script as string)
    const files = [...next.matchAll(/(?:docs|examples)\/\S+/g)]
    expect(files.length).toBeGreaterThan(2)
    for (const [file] of files) expect(existsSync(join(root, file)), file).toBe(true)
  })

  test('only reads, with a real service, unless writes are allowed', async () => {
    const { service, env } = await serve({ transactions: sampleTransactions(250) })
    const { code, stdout, stderr } = await run('demo.js', env)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('250 transactions on 3 pages')
    expect(new Set(service.requests.map(({ method }) => method))).toEqual(new Set(['GET']))

    const account = { CUSTOMER_ID: 'c1', VIRTUAL_ACCOUNT_ID: 'v1' }
    const allowed = await run('demo.js', { ...env, ALLOW_WRITES: '1', ...account })
    expect(allowed.code).toBe(0)
    expect(service.requests.filter(({ method }) => method === 'POST').map(({ path }) => path)).toEqual([
      '/customers/c1/virtual_accounts/v1/deactivate',
      '/customers/c1/virtual_accounts/v1/reactivate',
    ])
  })

  test('asks for the account before it sends anything', async () => {
    const { service, env } = await serve({})
    const { code, stderr } = await run('demo.js', { ...env, ALLOW_WRITES: '1' })
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'ALLOW_WRITES=1 deactivates and reactivates an account: name it with CUSTOMER_ID and VIRTUAL_ACCOUNT_ID.\n',
    })
    expect(service.requests).toHaveLength(0)
  })
})

describe.each(['demo.js', 'list-transactions.js', 'export-csv.js', 'resume-after-crash.js'])(
  '%s says in one line what is wrong',
  example => {
    test.each([
      [
        'BASE_URL without API_KEY',
        { BASE_URL: 'https://api.example.com', API_KEY: '' },
        /^BASE_URL is set, but API_KEY is not/,
      ],
      ['API_KEY without BASE_URL', { BASE_URL: '', API_KEY: 'k' }, /^API_KEY is set, but BASE_URL is not/],
      ['a malformed URL', { BASE_URL: 'nonsense', API_KEY: 'k' }, /^BASE_URL: expected an absolute URL/],
      ['a URL without TLS', { BASE_URL: 'http://api.example.com', API_KEY: 'k' }, /^BASE_URL: .*https/],
      [
        'a service that is down',
        { BASE_URL: 'http://127.0.0.1:1', API_KEY: 'k' },
        /^GET \/transactions.*: .*attempts\)/,
      ],
    ])('%s', async (_what, env, expected) => {
      const { code, stderr } = await run(example, env)
      expect(code).toBe(1)
      const lines = stderr.trimEnd().split('\n')
      expect(lines.filter(line => expected.test(line))).toHaveLength(1)
      expect(lines.filter(line => /^ {4}at |^node:/.test(line))).toEqual([])
    })

    test('a wrong key, which is not printed', async () => {
      const { env } = await serve({})
      const { code, stdout, stderr } = await run(example, { ...env, API_KEY: 'wrong_key' })
      expect(code).toBe(1)
      expect(stderr).toMatch(/^GET \/transactions.*: .*401.*\n/m)
      expect(stdout + stderr).not.toContain('wrong_key')
    })
  },
)

describe.each(['bulk-deactivate', 'export-parallel'])('%s, without BullMQ', example => {
  const runCopy = async (...args: string[]) => {
    const examples = join(folder, 'examples')
    const filter = (path: string) => !path.includes('node_modules') && !path.includes('react-table')
    cpSync(join(root, 'examples'), examples, { recursive: true, filter })
    return run(join(examples, example, 'index.js'), { BASE_URL: '', API_KEY: '' }, [], args)
  }

  test('says in one line how to install it', async () => {
    const { code, stdout, stderr } = await runCopy()
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/\nBullMQ is not installed: \(cd examples\/scaling\/bullmq && npm ci\)\n$/)
    expectToFit(stderr)
  })

  test('has help', async () => {
    const { code, stdout, stderr } = await runCopy('--help')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`npm run example examples/${example} -- [options]`)
    expectToFit(stdout)
  })

  test('names an option that it does not know', async () => {
    const { code, stderr } = await runCopy('--worker', '3')
    expect({ code, stderr }).toEqual({ code: 1, stderr: "Unknown option '--worker'. See --help.\n" })
  })
})

test('fake-server says in one line that its port is taken', async () => {
  const { env } = await serve({})
  const PORT = new URL(env.BASE_URL).port
  const { code, stderr } = await run('fake-server.js', { PORT })
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `Port ${PORT} is taken: choose another, such as PORT=${Number(PORT) + 1}, or PORT=0 for any.\n`,
  })
})

test('list-transactions counts all transactions and adds them up', async () => {
  const transactions = [0.1, 0.2].map((amount, index) => ({
    id: `t${index}`,
    amount,
    currency: 'EUR',
    description: 'Coffee',
  }))
  const { env } = await serve({ transactions })
  const { code, stdout, stderr } = await run('list-transactions.js', env)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('2 transactions on 1 page.')
  expect(stdout).toContain('Coffee')
  expect(stdout).toMatch(/EUR +2 +0\.3\n/)
})

test('list-transactions brings its own fake service', async () => {
  const { code, stdout, stderr } = await run('list-transactions.js', { BASE_URL: '', API_KEY: '' })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('1,000 transactions on 10 pages')
  expectToFit(stdout)
})

test('handle-errors shows all five kinds of failure, and what to do', async () => {
  const { code, stdout, stderr } = await run('handle-errors.js')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expectToFit(stdout)
  const text = stdout.replaceAll(/\s+/g, ' ')
  for (const said of [
    '→ look at status 404 and body {"error":{"message":"no such account"}}',
    '→ retry in 90 s',
    '→ check baseUrl and the network, or retry later',
    '→ more than 100 ms: raise timeout, or retry later',
    'data[0].amount: expected a number',
    '→ look at data.0.amount: if that is right, pass a schema',
    '→ resume at page 1',
    'the list shrank from 250 to 247 items',
    'resumed: 250 of 250 read, 0 missed',
    'repeated with the same key: HTTP 200, the account is active: false',
    'TimeoutError: The operation was aborted',
    'TypeError: limit: expected a whole number of at least 1',
  ]) {
    expect(text).toContain(said)
  }
})

describe('export-csv', () => {
  test('writes every transaction, quoted and safe to open in a spreadsheet', async () => {
    const { env } = await serve({
      transactions: [
        { id: 't1', amount: 1e21, currency: 'EUR', description: 'Café "Zur Post", München' },
        { id: 't2', amount: -0.5, currency: 'EUR', description: '=1+1' },
        { id: 't3', amount: 1e-7, currency: 'EUR', description: 'two\nlines' },
      ],
    })
    const { code, stdout, stderr } = await run('export-csv.js', env)
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Wrote 3 transactions to transactions.csv.\n' })
    expect(stderr).toMatch(/█{20} 3 of 3, [\d,]+ a second, in \d\.\d\d s\n$/)
    expect(readFileSync(join(folder, 'transactions.csv'), 'utf8').split('\n')).toEqual([
      '\ufeffid,amount,currency,description',
      't1,1000000000000000000000,EUR,"Café ""Zur Post"", München"',
      "t2,-0.5,EUR,'=1+1",
      't3,0.0000001,EUR,"two',
      'lines"',
      '',
    ])
  })

  test('writes 100,000 in a heap that could not hold them', { timeout: 90_000 }, async () => {
    const description = 'x'.repeat(250)
    const transactions = sampleTransactions(100_000).map(transaction => ({ ...transaction, description }))
    const { env } = await serve({ transactions, maxLimit: 1000 })
    const { code, stderr } = await run('export-csv.js', env, ['--max-old-space-size=36'])
    expect(stderr.match(/ of 100,000, [\d,]+ a second, (\d+ s left|in [\d.]+ s)\n/g)).toHaveLength(10)
    expect(code).toBe(0)
    const lines = readFileSync(join(folder, 'transactions.csv'), 'utf8').trimEnd().split('\n')
    expect(lines.slice(1).map(line => line.split(',')[0])).toEqual(transactions.map(({ id }) => id))
  })

  test('leaves nothing that looks like a whole export when it fails', async () => {
    const transactions = sampleTransactions(250)
    // No amount, and on the second page.
    Object.assign(transactions[150] as object, { amount: 'much' })
    const { env } = await serve({ transactions })
    const { code, stderr } = await run('export-csv.js', env)
    expect(code).toBe(1)
    expect(stderr).toContain('data[51].amount: expected a number')
    expect(readdirSync(folder)).not.toContain('transactions.csv')
  })
})

describe('resume-after-crash', () => {
  const idsWritten = () =>
    readFileSync(join(folder, 'import/transactions.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .map(line => (JSON.parse(line) as { id: string }).id)

  const killInTheMiddle = async (env: Record<string, string>, line = / written$/) => {
    const { child } = await startUntil(line, 'resume-after-crash.js', env)
    await kill(child)
  }

  test('writes every transaction once, however often it is killed', async () => {
    const { service, env } = await serve({ transactions: sampleTransactions(1000), latency: 100 })
    for (let time = 1; time <= 3; time++) await killInTheMiddle(env)
    expect(idsWritten().length).toBeLessThan(1000)
    const { code, stdout } = await run('resume-after-crash.js', env)
    expect(code).toBe(0)
    expect(stdout).not.toContain('continuing at page 1\n')
    expect(idsWritten()).toEqual(service.transactions.map(({ id }) => id))
  })

  test('writes again what was half written when it was killed', async () => {
    const { service, env } = await serve({ transactions: sampleTransactions(100), latency: 100 })
    await killInTheMiddle(env)
    const id = service.transactions.at(-1)?.id
    appendFileSync(join(folder, 'import/transactions.jsonl'), `{"id":"${id}"}\n{"id":"12`)
    const { code } = await run('resume-after-crash.js', env)
    expect(code).toBe(0)
    expect(idsWritten()).toEqual(service.transactions.map(({ id }) => id))
  })

  test.each([
    ['a different total', 21, 1],
    ['the same total, so no page shows it', 30, 30],
  ])(
    'resumes correctly after transactions were added and removed while it was down: %s',
    async (_what, gone, come) => {
      const { service, env } = await serve({ transactions: sampleTransactions(200), latency: 30 })
      await killInTheMiddle(env, /^100 of 200 written$/)
      const before = idsWritten()
      service.transactions.splice(0, gone)
      service.transactions.push(
        ...sampleTransactions(come, 7).map(transaction => ({ ...transaction, id: `new-${transaction.id}` })),
      )
      const { code } = await run('resume-after-crash.js', env)
      expect(code).toBe(0)
      const after = idsWritten()
      expect(after.slice(0, before.length)).toEqual(before)
      expect(new Set(after).size).toBe(after.length)
      expect(after).toEqual(expect.arrayContaining(service.transactions.map(({ id }) => id)))
    },
  )
})

describe('proxy', () => {
  const account = { customerId: 'c1', virtualAccountId: 'v1' }

  async function start() {
    const { service, env } = await serve({ transactions: sampleTransactions(250) })
    const { match } = await startUntil(/on (http:\S+)\. Press Ctrl-C/, 'proxy.js', { ...env, PORT: '0' })
    const baseUrl = match[1] as string
    return { service, baseUrl, client: new Client({ baseUrl, apiKey: null }) }
  }

  test('lets a client without a key iterate the list', async () => {
    const { service, client } = await start()
    const ids = []
    for await (const { id } of client.transactions.list({ limit: 100 })) ids.push(id)
    expect(ids).toEqual(service.transactions.map(({ id }) => id))
    expect(service.requests.map(({ query }) => query)).toEqual(
      expect.arrayContaining([1, 2, 3].map(page => ({ page: String(page), limit: '100' }))),
    )
  })

  test('forwards the idempotency key, so that a write whose response is lost is applied once', async () => {
    const { service, client } = await start()
    service.fail({ method: 'POST', with: 'network-error' })
    const { attempts, idempotencyKey } = await client.virtualAccounts.deactivate(account)
    expect(attempts).toBe(2)
    expect(service.isActive(account)).toBe(false)
    expect(service.requests.map(({ headers }) => headers.get('Idempotency-Key'))).toEqual([
      idempotencyKey,
      idempotencyKey,
    ])
  })

  test('forwards only listed headers, in both directions', async () => {
    const { service, baseUrl } = await start()
    service.fail({
      with: () =>
        Response.json({ ok: true }, { status: 202, headers: { 'Set-Cookie': 'a=b', 'Retry-After': '1' } }),
    })
    const response = await fetch(`${baseUrl}/customers/c1/virtual_accounts/v1/deactivate`, {
      method: 'POST',
      headers: {
        Cookie: 'session=1',
        Authorization: 'Bearer 1',
        'Api-Key': 'theirs',
        'Content-Type': 'application/json',
      },
      body: '{}',
    })
    expect(await response.json()).toEqual({ ok: true })
    expect(response.status).toBe(202)
    expect(response.headers.get('Set-Cookie')).toBeNull()
    expect(response.headers.get('Retry-After')).toBe('1')
    const [received] = service.requests
    expect(received?.headers.get('Cookie')).toBeNull()
    expect(received?.headers.get('Authorization')).toBeNull()
    expect(received?.headers.get('Api-Key')).toBe(service.apiKey)
    expect(received?.body).toEqual({})
  })

  test('does not start with an API_KEY but no BASE_URL: the key would go to a fake service', async () => {
    const { code, stdout, stderr } = await run('proxy.js', { BASE_URL: '', API_KEY: 'k', PORT: '0' })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^API_KEY is set, but BASE_URL is not.*\n$/)
  })

  test('rejects every request that is not on its list', async () => {
    const { service, baseUrl } = await start()
    for (const [method, path] of [
      ['GET', '/customers'],
      ['DELETE', '/customers/c1/virtual_accounts/v1/deactivate'],
      ['POST', '/customers/c1/virtual_accounts/v1/close'],
      ['POST', '/customers/..%2Fadmin/virtual_accounts/v1/deactivate'],
      ['GET', '/transactions?page=1&admin=true'],
    ] as const) {
      const { status } = await fetch(baseUrl + path, { method })
      expect(status, `${method} ${path}`).toBe(404)
    }
    const { status } = await fetch(`${baseUrl}/transactions`, { headers: { 'Sec-Fetch-Site': 'cross-site' } })
    expect(status, 'a page of another site').toBe(403)
    expect(service.requests).toHaveLength(0)
  })

  test('responds with 502 to a lost response, so that the outcome is unknown', async () => {
    const { service, client } = await start()
    service.fail({ method: 'POST', with: 'network-error' })
    const error = await client.virtualAccounts.deactivate(account, { maxRetries: 0 }).catch(error => error)
    expect(isApiError(error) && error.kind === 'http' && error.status).toBe(502)
    expect(error).toMatchObject({ outcomeUnknown: true })
  })
})
