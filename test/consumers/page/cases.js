// What a page does with the client. server.js serves it, and returns from /seen what it received.
import { violations } from './watch.js'

const account = { customerId: 'c1', virtualAccountId: 'v1' }
const listed = 250

function equal(found, expected) {
  const [one, other] = [found, expected].map(value => JSON.stringify(value))
  if (one !== other) throw new Error(`found ${one}, expected ${other}`)
}

async function ask(path) {
  const response = await fetch(path)
  return response.json()
}

async function idsOf(list) {
  const ids = []
  for await (const { id } of list) ids.push(id)
  return ids
}

async function rejection(promise) {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('it did not reject')
}

/** No request fails here, so the browser writes nothing to the console. */
const quiet = {
  async 'a proxy behind a relative baseUrl adds the key'({ Client }, { ids }) {
    const client = new Client({ baseUrl: '/api', apiKey: null })
    equal(await idsOf(client.transactions.list({ limit: 20 }, { verified: false })), ids)
    const { status, idempotencyKey } = await client.virtualAccounts.deactivate(account)
    equal(status, 200)
    const { proxied } = await ask('/seen')
    equal(proxied.length, Math.ceil(listed / 20) + 1)
    equal(
      proxied.filter(headers => 'api-key' in headers),
      [],
    )
    equal(proxied.at(-1)['idempotency-key'], idempotencyKey)
  },

  async 'a preflight asks another origin for the three headers, and no more'({ Client }, { ids, service }) {
    const client = new Client({ baseUrl: `${service}/exposing`, apiKey: 'test_key' })
    equal(await idsOf(client.transactions.list({ limit: 20 }, { verified: false })), ids)
    await client.virtualAccounts.reactivate(account)
    const { preflights } = await ask('/seen')
    equal(new Set(preflights.map(({ headers }) => headers)).size, 2)
    const reads = preflights.filter(({ method }) => method === 'GET')
    equal(reads[0].headers, 'api-key')
    // One for each URL, and each page of the list has its own.
    equal(reads.length, Math.ceil(listed / 20))
    equal(preflights.find(({ method }) => method === 'POST').headers, 'api-key,content-type,idempotency-key')
  },

  async 'a header that is not exposed is absent'({ Client }, { service }) {
    const headers = async manner => {
      const client = new Client({ baseUrl: `${service}/${manner}`, apiKey: 'test_key' })
      const page = await client.transactions.list({ limit: 1 })
      return ['content-type', 'x-request-id', 'date'].map(name => page.headers.has(name))
    }
    equal(await headers('exposing'), [true, true, true])
    equal(await headers('allowing'), [true, false, false])
  },

  async 'a redirect is an HttpError of status 0'({ Client, HttpError }, { service }) {
    const client = new Client({ baseUrl: `${service}/moved`, apiKey: 'test_key' })
    const error = await rejection(client.transactions.list())
    equal([error instanceof HttpError, error.status, error.attempts], [true, 0, 1])
  },

  async 'a function gives short-lived keys'({ Client }, { ids, service }) {
    const given = []
    const apiKey = async () => {
      const { key } = await ask('/key')
      given.push(key)
      return key
    }
    const client = new Client({ baseUrl: `${service}/exposing`, apiKey })
    equal(await idsOf(client.transactions.list({ limit: 100 })), ids)
    await ask('/revoke')
    equal(await idsOf(client.transactions.list({ limit: 100 })), ids)
    equal(new Set(given).size, given.length)
  },

  async 'an abort ends the request'({ Client }, { service }) {
    const leaving = new AbortController()
    const client = new Client({ baseUrl: `${service}/exposing`, apiKey: 'test_key' })
    const call = rejection(client.request('GET', '/hanging', { signal: leaving.signal }))
    await ask('/arrived')
    const reason = new Error('left')
    leaving.abort(reason)
    equal((await call).cause === reason, true)
    await ask('/gone')
  },

  async 'the fake service works in a page'({ Client, FakeService, sampleTransactions }) {
    const fake = new FakeService({ transactions: sampleTransactions(listed) })
    const client = new Client({ baseUrl: fake.baseUrl, apiKey: fake.apiKey, fetch: fake.fetch })
    const ids = fake.transactions.map(({ id }) => id)
    equal(await idsOf(client.transactions.list({ limit: 30 })), ids)
    await client.virtualAccounts.deactivate(account)
    equal(fake.isActive(account), false)
  },

  async 'a write interrupted by leaving the page is repeated with its key'({ Client }, { service }) {
    const idempotencyKey = sessionStorage.getItem('pending')
    const client = new Client({ baseUrl: `${service}/exposing`, apiKey: 'test_key' })
    await client.virtualAccounts.deactivate(account, { idempotencyKey })
    sessionStorage.removeItem('pending')
    const { writes } = await ask('/seen')
    equal(writes.filter(key => key === idempotencyKey).length, 2)
  },
}

/** Here requests fail, and the browser says so in the console by itself. */
const refused = {
  async 'a service that allows no other origin is a ConnectionError'(
    { Client, ConnectionError },
    { service },
  ) {
    const client = new Client({ baseUrl: `${service}/refusing`, apiKey: 'test_key', maxRetries: 0 })
    const read = await rejection(client.transactions.list())
    equal([read instanceof ConnectionError, read.kind], [true, 'connection'])
    const write = await rejection(client.virtualAccounts.deactivate(account))
    equal([write.kind, write.outcomeUnknown], ['connection', true])
  },

  async 'Retry-After counts where it is exposed'({ Client, isApiError }, { service }) {
    const retryAfterMs = async (manner, path) => {
      const client = new Client({ baseUrl: `${service}/${manner}`, apiKey: 'test_key', maxRetries: 0 })
      const error = await rejection(client.request('GET', path))
      equal([isApiError(error), error.status], [true, 429])
      return error.retryAfterMs ?? 'not known'
    }
    equal(await retryAfterMs('exposing', '/busy'), 90_000)
    // By the clock of the service, which is years ahead of the page's.
    equal(await retryAfterMs('exposing', '/busy-until'), 90_000)
    equal(await retryAfterMs('allowing', '/busy'), 'not known')
  },

  async 'a key that has been revoked is a 401'({ Client }, { service }) {
    const { key } = await ask('/key')
    const client = new Client({ baseUrl: `${service}/exposing`, apiKey: key })
    await client.transactions.list()
    await ask('/revoke')
    equal((await rejection(client.transactions.list())).status, 401)
  },
}

/** Begins a write whose response never comes, and leaves the page with it. */
async function leaveWithAWrite({ Client }, { service }) {
  const idempotencyKey = crypto.randomUUID()
  sessionStorage.setItem('pending', idempotencyKey)
  const client = new Client({ baseUrl: `${service}/silent`, apiKey: 'test_key' })
  client.virtualAccounts.deactivate(account, { idempotencyKey }).catch(() => {})
  await ask('/arrived')
  location.reload()
}

/** Runs the cases that the address names, and sends what came of them to the server. */
export async function main(api) {
  const facts = await ask('/facts')
  if (location.search === '?quiet' && sessionStorage.getItem('pending') === null) {
    return leaveWithAWrite(api, facts)
  }
  const results = []
  for (const [name, run] of Object.entries(location.search === '?quiet' ? quiet : refused)) {
    const error = await run(api, facts).then(
      () => undefined,
      error => `${error}\n${error.stack}`,
    )
    results.push({ name, error })
  }
  await fetch('/results', { method: 'POST', body: JSON.stringify({ results, violations }) })
}
