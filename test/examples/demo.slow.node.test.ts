import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sampleTransactions } from 'virtual-accounts/testing'
import { beforeAll, describe, expect, test } from 'vitest'
import { root } from '../program.ts'
import { type Ended, expectToFit, ofFake, run, serveFake } from './programs.ts'

describe('demo', () => {
  let ended: Ended
  beforeAll(async () => {
    ended = await run('demo.js', { env: ofFake })
  })

  test('prints the six lines of code that it runs, and what they found', async () => {
    const { code, stdout, stderr } = ended
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
    const { stdout } = ended
    const barOf = (label: string) => new RegExp(`${label} +(█+)░* +\\d+\\.\\d\\d s`).exec(stdout)?.[1]?.length
    expect(barOf('one page at a time')).toBe(24)
    expect(barOf('4 in parallel \\(default\\)')).toBeLessThan(24)
  })

  test('shows that a write whose response is lost is applied once, and a message that helps', async () => {
    const { stdout } = ended
    expect(stdout).toContain('✓ The service received 2 requests with 1 idempotency key: deactivated once.')
    expect(stdout).toMatch(/HTTP 401[\s\S]*\s+Check\s+that\s+apiKey\s+belongs/)
  })

  test('names files and commands to open next, all of which exist', async () => {
    const { stdout } = ended
    const next = stdout.slice(stdout.lastIndexOf('Next'))
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    for (const [, script] of next.matchAll(/npm run (\S+)/g)) expect(scripts).toHaveProperty(script as string)
    const files = [...next.matchAll(/(?:docs|examples)\/\S+/g)]
    expect(files.length).toBeGreaterThan(2)
    for (const [file] of files) expect(existsSync(join(root, file)), file).toBe(true)
  })

  test('only reads, with a real service, unless writes are allowed', async () => {
    const { service, env } = await serveFake({ transactions: sampleTransactions(250) })
    const { code, stdout, stderr } = await run('demo.js', { env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('250 transactions on 3 pages')
    expect(new Set(service.requests.map(({ method }) => method))).toEqual(new Set(['GET']))

    const account = { CUSTOMER_ID: 'c1', VIRTUAL_ACCOUNT_ID: 'v1' }
    const allowed = await run('demo.js', { env: { ...env, ALLOW_WRITES: '1', ...account } })
    expect(allowed.code).toBe(0)
    expect(service.requests.filter(({ method }) => method === 'POST').map(({ path }) => path)).toEqual([
      '/customers/c1/virtual_accounts/v1/deactivate',
      '/customers/c1/virtual_accounts/v1/reactivate',
    ])
  })

  test('asks for the account before it sends anything', async () => {
    const { service, env } = await serveFake({})
    const { code, stderr } = await run('demo.js', { env: { ...env, ALLOW_WRITES: '1' } })
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'ALLOW_WRITES=1 deactivates and reactivates an account: name it with CUSTOMER_ID and VIRTUAL_ACCOUNT_ID.\n',
    })
    expect(service.requests).toHaveLength(0)
  })
})

test('list-transactions counts all transactions and adds them up', async () => {
  const transactions = [0.1, 0.2].map((amount, index) => ({
    id: `t${index}`,
    amount,
    currency: 'EUR',
    description: 'Coffee',
  }))
  const { env } = await serveFake({ transactions })
  const { code, stdout, stderr } = await run('list-transactions.js', { env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('2 transactions on 1 page.')
  expect(stdout).toContain('Coffee')
  expect(stdout).toMatch(/EUR +2 +0\.3\n/)
})

test('list-transactions brings its own fake service', async () => {
  const { code, stdout, stderr } = await run('list-transactions.js', { env: { BASE_URL: '', API_KEY: '' } })
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
    '→ look at issues and body of the error: if the service is right, pass a schema',
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
