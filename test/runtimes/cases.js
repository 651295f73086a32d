// What must hold in every runtime, against the same server: see server.js. Uses nothing but web standards itself.

import { Client, HttpError, isApiError } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'

const apiKey = 'key-of-the-runtimes'
const account = { customerId: 'c1', virtualAccountId: 'v1' }

// A busy machine may be slow; nothing here waits for long when it works.
const patienceMs = 20_000

const cases = {
  'a walk yields every item once and in order, four pages at a time': async ({ visit }) => {
    const { client, seen } = visit('list')
    const ids = []
    const options = { concurrency: 4, verified: false }
    for await (const { id } of client.transactions.list({ limit: 10 }, options)) ids.push(id)
    equal(ids, numbered(95))
    equal((await seen()).map(pageOf).toSorted(byNumber), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  },

  'a compressed response is read, and its text is whole': async ({ visit }) => {
    const { client } = visit('list in gzip')
    const { data, totalItems } = await client.transactions.list({ limit: 2 })
    equal([data.length, totalItems, data[1].description], [2, 95, 'Straße ☂'])
  },

  'a write sends its three headers, and no body': async ({ visit }) => {
    const { client, seen } = visit('write')
    const { data, idempotencyKey } = await client.virtualAccounts.deactivate(account)
    equal(data, { done: true })
    const [{ method, path, headers, body }, ...more] = await seen()
    equal([method, path, body], ['POST', '/customers/c1/virtual_accounts/v1/deactivate', ''])
    equal(
      [headers['api-key'], headers['content-type'], headers['idempotency-key']],
      [apiKey, 'application/json', idempotencyKey],
    )
    equal(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(idempotencyKey), true)
    equal(more, [])
  },

  'ids are encoded once': async ({ visit }) => {
    const { client, seen } = visit('write')
    await client.virtualAccounts.reactivate({ customerId: 'a/b%2e', virtualAccountId: "ü '*" })
    const [{ path }] = await seen()
    equal(path, "/customers/a%2Fb%252e/virtual_accounts/%C3%BC%20'*/reactivate")
  },

  'a write that meets 503 is retried with the same idempotency key': ({ visit }) =>
    succeedsTheSecondTime(visit('busy once')),

  'a write whose connection is reset is sent again with the same idempotency key': async ({ visit }) => {
    const { client, seen } = visit('reset once')
    const { data, idempotencyKey } = await client.virtualAccounts.deactivate(account)
    equal(data, { done: true })
    // Sent again by the client, or before that by the runtime, as Deno does on a reused connection.
    equal(keysOf(await seen()), [idempotencyKey, idempotencyKey])
  },

  'a write whose response is cut off is retried with the same idempotency key': ({ visit }) =>
    succeedsTheSecondTime(visit('cut once')),

  'a page that is cut off is requested again': async ({ visit }) => {
    const { client, seen } = visit('cut a list once')
    const { data } = await client.transactions.list({ limit: 3 })
    equal([data.length, (await seen()).length], [3, 2])
  },

  'a redirect to another origin is refused, and that origin sees nothing': async ({ visit }) => {
    const { client, seen } = visit('redirect')
    const error = await failureOf('http', client.virtualAccounts.deactivate(account))
    equal([error.status, error instanceof HttpError, error.outcomeUnknown], [307, true, false])
    equal(
      (await seen()).map(({ where }) => where),
      ['service'],
    )
  },

  'a response that does not begin in time is a TimeoutError': ({ visit }) => timesOut(visit('silence')),

  'a response that does not end in time is a TimeoutError': ({ visit }) => timesOut(visit('half an answer')),

  'an abort before the response is an AbortError with its reason, and ends the connection': ({ visit }) =>
    abortEndsTheConnection(visit('silence')),

  'an abort within the response is an AbortError with its reason, and ends the connection': ({ visit }) =>
    abortEndsTheConnection(visit('half an answer')),

  'an abort during the wait before a retry is an AbortError with its reason': async ({ visit }) => {
    const controller = new AbortController()
    const reason = new Error('enough')
    const onEvent = ({ type }) => type === 'retry' && controller.abort(reason)
    const { client, seen } = visit('busy for long', { onEvent })
    const { signal } = controller
    const error = await failureOf('aborted', client.virtualAccounts.deactivate(account, { signal }))
    equal(error.cause === reason, true)
    equal((await seen()).length, 1)
  },

  'a loop that is left early requests no page that it is far from': async ({ visit }) => {
    const { client, seen } = visit('list')
    for await (const { id } of client.transactions.list({ limit: 10 })) if (id === 't12') break
    equal(
      (await seen()).map(pageOf).filter(page => page > 3),
      [],
    )
  },

  'a key function is called before every attempt': async ({ visit }) => {
    let asked = 0
    const { client, seen } = visit('busy once', { apiKey: async () => `${apiKey}-${++asked}` })
    await client.virtualAccounts.deactivate(account)
    equal(
      (await seen()).map(({ headers }) => headers['api-key']),
      [`${apiKey}-1`, `${apiKey}-2`],
    )
  },

  'a number that would lose digits arrives as its digits': async ({ visit }) => {
    const { client } = visit('long number')
    const { data } = await client.transactions.list()
    equal([data[0].amount, data[0].reference], [10.5, '12345678901234567890'])
  },

  'an HTML page of a proxy is an InvalidResponseError that has its body': async ({ visit }) => {
    const { client } = visit('a page of a proxy')
    const error = await failureOf('invalid-response', client.transactions.list())
    equal(error.body, '<h1>Welcome</h1>')
  },

  // The runner looks through all that was printed, too.
  'a key that the service echoes is in no part of the error, and printing shows none': async ({ visit }) => {
    const { client } = visit('wrong key')
    const error = await failureOf('http', client.virtualAccounts.deactivate(account))
    const shown = [error.message, error.stack, String(error), JSON.stringify([error, client])]
    const shownHeaders = [...error.headers].join()
    equal([...shown, shownHeaders, JSON.stringify(error.body)].join().includes(apiKey), false)
    equal(error.body.error, 'unknown key [api key]')
    console.log(error, error.cause, client)
  },

  'a refused connection is a ConnectionError, and nothing was sent where the runtime says so': async ({
    urls,
    tellsCodes,
  }) => {
    const client = new Client({ baseUrl: urls.refusing, apiKey, maxRetries: 0 })
    const error = await failureOf('connection', client.virtualAccounts.deactivate(account))
    equal([error.cause instanceof Error, error.outcomeUnknown], [true, !tellsCodes])
  },

  'a certificate that is not trusted is a ConnectionError, at once where the runtime says so': async ({
    urls,
    tellsCodes,
  }) => {
    const client = new Client({ baseUrl: urls.untrusted, apiKey, maxRetries: 1 })
    const error = await failureOf('connection', client.virtualAccounts.deactivate(account))
    equal([error.attempts, error.outcomeUnknown], tellsCodes ? [1, false] : [2, true])
  },

  'an unknown host is a ConnectionError, and nothing was sent where the runtime says so': async ({
    tellsCodes,
  }) => {
    const client = new Client({ baseUrl: 'https://does-not-exist.invalid', apiKey, maxRetries: 0 })
    const error = await failureOf('connection', client.virtualAccounts.deactivate(account))
    equal(error.outcomeUnknown, !tellsCodes)
  },

  'the fake service responds, fails and breaks off': async () => {
    const service = new FakeService({ transactions: sampleTransactions(45) })
    const client = new Client({ baseUrl: service.baseUrl, apiKey: service.apiKey, fetch: service.fetch })
    let count = 0
    for await (const { amount } of client.transactions.list({ limit: 10 })) count += Number.isFinite(amount)
    equal(count, 45)
    service.fail({ method: 'POST', with: 'truncate' })
    const { attempts } = await client.virtualAccounts.deactivate(account)
    equal([attempts, service.isActive(account)], [2, false])
    service.fail({ with: 'network-error' })
    const error = await failureOf('connection', client.transactions.list(undefined, { maxRetries: 0 }))
    equal(error.attempts, 1)
  },
}

/**
 * Runs all cases, one after the other.
 *
 * @param {{ urls: Record<string, string>, run: string, tellsCodes: boolean }} settings
 *   run: any name that no other run has; tellsCodes: whether the errors of this runtime's fetch say by a code what failed
 * @returns {Promise<{ name: string, problem: string | undefined }[]>}
 */
export async function runCases({ urls, run, tellsCodes }) {
  const results = []
  for (const [name, examine] of Object.entries(cases)) {
    const place = `${run}-${results.length}`
    const visit = (behaviour, options) => visitTo(urls.service, place, behaviour, options)
    const problem = await within(patienceMs, examine({ visit, urls, tellsCodes })).then(
      () => undefined,
      error => error?.stack ?? String(error),
    )
    results.push({ name, problem })
  }
  return results
}

/** A client of the server's behaviour, and what the server sees of it. */
function visitTo(url, place, behaviour, options) {
  const client = new Client({
    baseUrl: `${url}/${place}/${encodeURIComponent(behaviour)}`,
    apiKey,
    ...options,
  })
  const seen = async () => (await fetch(`${url}/__seen/${place}`)).json()
  return { client, seen }
}

async function succeedsTheSecondTime({ client, seen }) {
  const { data, attempts, idempotencyKey } = await client.virtualAccounts.deactivate(account)
  equal([data, attempts], [{ done: true }, 2])
  equal(keysOf(await seen()), [idempotencyKey, idempotencyKey])
}

async function timesOut({ client, seen }) {
  const call = client.virtualAccounts.deactivate(account, { timeout: 500, maxRetries: 0 })
  const error = await failureOf('timeout', call)
  equal([error.timeoutMs, error.outcomeUnknown, (await seen()).length], [500, true, 1])
}

async function abortEndsTheConnection({ client, seen }) {
  const controller = new AbortController()
  const reason = { why: 'anything may be one' }
  const call = failureOf('aborted', client.virtualAccounts.deactivate(account, { signal: controller.signal }))
  while ((await seen()).length === 0) await soon()
  controller.abort(reason)
  const { cause, outcomeUnknown } = await call
  equal([cause === reason, outcomeUnknown], [true, true])
  while (!(await seen())[0].gone) await soon()
}

function soon() {
  return new Promise(resolve => setTimeout(resolve, 10))
}

async function within(ms, work) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${ms / 1000} s`)), ms)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

async function rejectionOf(promise) {
  const fulfilled = Symbol('fulfilled')
  const outcome = await promise.then(
    () => fulfilled,
    error => error,
  )
  if (outcome === fulfilled) throw new Error('it did not reject')
  return outcome
}

async function failureOf(kind, promise) {
  const error = await rejectionOf(promise)
  if (!isApiError(error)) throw error
  equal(error.kind, kind)
  return error
}

function equal(found, expected) {
  const [shown, wanted] = [found, expected].map(value => JSON.stringify(value))
  if (shown !== wanted) throw new Error(`expected ${wanted}, got ${shown}`)
}

function keysOf(requests) {
  return requests.map(({ headers }) => headers['idempotency-key'])
}

function numbered(count) {
  return Array.from({ length: count }, (_, index) => `t${index + 1}`)
}

function pageOf({ path }) {
  return Number(new URL(path, 'http://localhost').searchParams.get('page') ?? 1)
}

function byNumber(a, b) {
  return a - b
}
