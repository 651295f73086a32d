import { Client, type ClientOptions, isApiError } from 'virtual-accounts'
import { account } from '../support.ts'
// For tests with random values: the documented outcomes of a call.

export const baseUrl = 'https://api.example.com'
export const apiKey = 'key_of_the_fuzz_tests'

type Outcome = { value: unknown } | { error: unknown }

/** How a call settles. One that hangs fails the test. */
export async function settle(call: () => PromiseLike<unknown>): Promise<Outcome> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const hung = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('the call hangs')), 30_000)
  })
  try {
    return { value: await Promise.race([call(), hung]) }
  } catch (error) {
    return { error }
  } finally {
    clearTimeout(timer)
  }
}

/** A value or an `ApiError`. Where misuse is possible, also a TypeError with a message of the client. */
export function expectDocumented(outcome: Outcome, { misuse = false } = {}): void {
  if ('value' in outcome || isApiError(outcome.error)) return
  if (misuse && isMisuse(outcome.error)) return
  throw new Error('an undocumented outcome', { cause: outcome.error })
}

/** A message that begins with a name, unlike those of the engine: "Cannot read properties …". */
const misuse = /^(?!Cannot |undefined|null|Failed ).+?: ./s

/** "timeout: …": says which option. */
export function isMisuse(error: unknown): boolean {
  return error instanceof TypeError && misuse.test(error.message)
}

export async function collectAll<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) {
    all.push(item)
    // A response that always has another page is not a hang.
    if (all.length > 500) break
  }
  return all
}

/** One call of each kind. */
export const calls: Record<string, (client: Client) => PromiseLike<unknown>> = {
  'one page': client => client.transactions.list(),
  'the items of a list': client => collectAll(client.transactions.list()),
  'the batches of a list': client => collectAll(client.transactions.list({}, { maxItems: 50 }).batches()),
  'a list with a schema': client => collectAll(client.list('/refunds', {}, { schema: anything })),
  'a write': client => client.virtualAccounts.deactivate(account),
  'a GET': client => client.request('GET', '/balance'),
  'a write with a schema': client => client.request('PUT', '/limits', { schema: anything, body: { a: 1 } }),
}

export const anything = schemaOf(value => ({ value }))

export function schemaOf(validate: (value: unknown) => unknown) {
  return { '~standard': { version: 1 as const, vendor: 'fuzz', validate: validate as never } }
}

export function clientWith(fetch: ClientOptions['fetch'], options: Partial<ClientOptions> = {}): Client {
  return new Client({ baseUrl, apiKey, fetch, timeout: 2000, maxRetries: 0, ...options })
}
