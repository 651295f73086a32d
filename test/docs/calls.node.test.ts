import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as v from 'valibot'
import { Client } from 'virtual-accounts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { account, errors, failPages, filesIn, keys, printed, refuse, run, sent, service } from './guide.ts'
import { type Modules, snippet } from './snippets.ts'

// writes.md, errors.md, options.md, typing.md, rate-limits.md, scaling.md, probe.md and the first block of observing.md.

/** The message that a call rejects with. */
const messageOf = (call: Promise<unknown>) =>
  call.then(
    () => 'it was successful',
    (error: Error) => error.message,
  )

describe('writes.md', () => {
  let folder: string
  let files: Modules
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'virtual-accounts-writes-'))
    files = filesIn(folder)
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  test('the key is on the result', async () => {
    const { result } = await run(snippet('writes.md', 'Writes'))
    expect(result.idempotencyKey).toMatch(/^[0-9a-f-]{36}$/)
    expect(keys()).toEqual([result.idempotencyKey])
  })

  test('an unknown outcome: the write is repeated with its key', async () => {
    service.fail({ times: 3, with: 'truncate' })
    const delay = vi.fn()
    const timers = { 'node:timers/promises': () => ({ setTimeout: delay }) }
    await run(snippet('writes.md', 'When the outcome is unknown'), timers)
    expect(keys()).toHaveLength(4)
    expect(new Set(keys()).size).toBe(1)
    expect(delay).toHaveBeenCalled()
  })

  test('an aborted write is repeated with its key', async () => {
    service.fail({ with: 'hang' })
    await run(snippet('writes.md', 'Aborting'))
    expect(keys()).toHaveLength(2)
    expect(new Set(keys()).size).toBe(1)
  })

  test('a key derived from a job is the same on each run', async () => {
    const { work } = await run(snippet('writes.md', 'Keys that survive a crash'))
    service.fail({ method: 'POST', with: 'truncate' })
    for (let i = 0; i < 2; i++) await work({ id: 'job-17', account })
    expect(keys()).toEqual(Array(3).fill('deactivate-job-17'))
  })

  test('a stored key is removed when the write is done', async () => {
    await run(snippet('writes.md', 'Keys that survive a crash', 2), files)
    expect(service.isActive(account)).toBe(false)
    expect(readdirSync(folder)).toEqual([])
  })

  test('a stored key stays when the write failed, and finishing it sends the same key', async () => {
    service.fail({ times: 3, with: 'truncate' })
    const code = snippet('writes.md', 'Keys that survive a crash', 2)
    const { finish } = await run(code.replace('await finish()', ''), files)
    await expect(finish()).rejects.toMatchObject({ outcomeUnknown: true })
    expect(readdirSync(folder)).toEqual(['pending.json'])
    await finish()
    expect(new Set(keys()).size).toBe(1)
    expect(readdirSync(folder)).toEqual([])
  })

  test('a refusal of the first run says that nothing was applied', async () => {
    refuse(404)
    const code = snippet('writes.md', 'Keys that survive a crash', 2)
    await expect(run(code, files)).rejects.toMatchObject({ status: 404, outcomeUnknown: false })
  })

  test('a body', async () => {
    await run(snippet('writes.md', 'Request body'))
    expect(service.requests.map(({ body }) => body)).toEqual([{}])
  })
})

describe('errors.md', () => {
  test('an HTTP error has a status and a body', async () => {
    service.fail({ with: Response.json('no', { status: 400 }) })
    await run(snippet('errors.md', 'Errors and retries'))
    expect(errors()).toEqual(['400 no'])
  })

  test('the messages are those of the client', async () => {
    const { client } = await run(snippet('options.md', 'The same client with other options'))
    const deactivate = (options?: object) => messageOf(client.virtualAccounts.deactivate(account, options))
    const list = () => messageOf(client.transactions.list())
    service.fail({ with: Response.json({ message: 'account is already inactive' }, { status: 422 }) })
    const messages = [await deactivate()]
    refuse(429, { 'Retry-After': '90' })
    messages.push(await list())
    const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' })
    const fetch = () => Promise.reject(new TypeError('fetch failed', { cause: reset }))
    messages.push(await messageOf(client.withOptions({ fetch }).virtualAccounts.deactivate(account)))
    const shown = snippet('errors.md', 'Messages').trim().split('\n\n')
    expect(messages).toEqual(shown.map(message => message.replaceAll('\n', ' ')))
    const misspelt = snippet('errors.md', 'What is not an ApiError')
    expect(await deactivate({ idempotency_key: 'k1' })).toBe(misspelt.trim().replace(/\s+/g, ' '))
  })

  test('time limits and a signal', async () => {
    const { page } = await run(snippet('errors.md', 'Time limits'))
    expect(page.data).toHaveLength(100)
  })
})

test('options.md: withOptions replaces the headers', async () => {
  const { client, patient } = await run(snippet('options.md', 'The same client with other options'))
  await client.transactions.list()
  await patient.transactions.list()
  expect(service.requests.map(({ headers }) => headers.get('X-Team'))).toEqual(['billing', null])
})

describe('typing.md', () => {
  test('a schema types a field that is not specified', async () => {
    service.transactions.splice(1)
    Object.assign(service.transactions[0]!, { createdAt: '2026-11-21T10:00:00Z' })
    await run(snippet('typing.md', 'Typing what is not specified'))
    expect(printed()).toEqual(['JPY 2026-11-21T10:00:00Z'])
  })

  test('a schema of another library works as well', async () => {
    const { client } = await run(snippet('options.md', 'The same client with other options'))
    const schema = v.object({ amount: v.pipe(v.number(), v.transform(String)) })
    const { data } = await client.transactions.list({}, { schema })
    expect(data[0]).toEqual({ amount: '4841890' })
  })

  test('a schema types what a write responds with', async () => {
    service.fail({ with: Response.json({ id: 'v1', status: 'inactive' }) })
    await run(snippet('typing.md', 'Typing what is not specified', 2))
    expect(printed()).toEqual(['inactive'])
  })

  test('a schema accepts amounts that a number cannot hold', async () => {
    const item = '{"id":"t1","amount":9007199254740993,"currency":"IDR","description":""}'
    service.fail({ with: () => new Response(`{"data":[${item}],"page":1,"totalItems":1,"limit":20}`) })
    await run(snippet('typing.md', 'When a response is not valid'))
    expect(printed()).toEqual(['9007199254740993'])
  })

  test('decimals are added exactly', async () => {
    service.transactions.splice(2)
    for (const [index, amount] of [0.1, 0.2].entries()) {
      Object.assign(service.transactions[index]!, { amount, currency: 'EUR' })
    }
    await run(snippet('typing.md', 'Decimal sums'))
    expect(printed()).toEqual(['EUR 0.3'])
  })

  test('any other endpoint', async () => {
    service.fail({ with: Response.json({ id: 'c1', name: 'Ada' }) })
    await run(snippet('typing.md', 'Other endpoints'))
    expect(printed()).toEqual(['Ada'])
    expect(sent()).toEqual(['GET /customers/c1?expand=accounts,limits'])
  })
})

describe('rate-limits.md', () => {
  /** The intervals that have begun, in milliseconds, and how to end them. */
  let intervals: { ms: number; end: () => void }[]
  beforeEach(() => {
    intervals = []
  })

  async function createClient() {
    const wait = (ms: number) => new Promise<void>(end => intervals.push({ ms, end }))
    const timers = { 'node:timers/promises': () => ({ setTimeout: wait }) }
    return (await run(snippet('rate-limits.md', 'Requests per second'), timers)).client
  }

  const idle = () => new Promise(resolve => setTimeout(resolve, 20))

  test('requests are sent one interval apart, retries too', async () => {
    const client = await createClient()
    refuse(503)
    const lists = Promise.all([client.transactions.list(), client.transactions.list()])
    for (const sent of [1, 2, 3]) {
      await vi.waitFor(() => expect(intervals).toHaveLength(sent))
      await idle()
      expect(service.requests).toHaveLength(sent)
      intervals.at(-1)?.end()
    }
    await lists
    expect(intervals.map(({ ms }) => ms)).toEqual([100, 100, 100])
  })

  test('a request that is aborted before its turn is not sent', async () => {
    const controller = new AbortController()
    const client = await createClient()
    await client.transactions.list()
    const list = client.transactions.list({}, { signal: controller.signal })
    await idle()
    controller.abort()
    await expect(list).rejects.toThrow('aborted')
    intervals.at(-1)?.end()
    await idle()
    expect(service.requests).toHaveLength(1)
  })
})

describe('scaling.md', () => {
  test('the id of a job is the key of its write', async () => {
    let work: (job: object) => unknown = () => {}
    class Worker {
      constructor(_name: string, process: typeof work) {
        work = process
      }
    }
    const { baseUrl, apiKey } = service
    await run(snippet('scaling.md', 'Many writes'), {}, { Client, Worker, baseUrl, apiKey, name: '' })
    await work({ id: 'job-17', data: { account } })
    expect(keys()).toEqual(['job-17'])
  })

  test('a 429 pauses all workers', async () => {
    const rateLimit = vi.fn()
    class RateLimitError extends Error {}
    const error = { kind: 'http', status: 429, retryAfterMs: 90_000 }
    const givens = { queue: { rateLimit }, RateLimitError, error }
    await expect(run(snippet('scaling.md', 'Many writes', 2), {}, givens)).rejects.toThrow(RateLimitError)
    expect(rateLimit).toHaveBeenCalledWith(90_000)
  })
})

test('probe.md: the report from code', async () => {
  failPages(404, page => page > 13)
  const { report } = await run(snippet('probe.md', 'From code'))
  expect(report.suggestedOptions).toEqual({ limit: 100 })
  expect(printed()[0]).toMatch(
    /^Page beyond the end: HTTP 404. The client expects an empty page of that number there/,
  )
  expect(JSON.parse(JSON.stringify(report)).findings).toHaveLength(report.findings.length)
})

test('observing.md: a listener is called for each event', async () => {
  await run(snippet('observing.md', 'Logs, metrics and traces'))
  expect(printed()).toEqual(['request /transactions', 'response /transactions'])
})
