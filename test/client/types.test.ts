import {
  type AnyApiError,
  Client,
  type ClientEvent,
  type DriftEvent,
  type EndEvent,
  type FailureEvent,
  type HttpError,
  type HttpMethod,
  isApiError,
  type List,
  type ListOptions,
  type Page,
  type RequestEvent,
  type RequestOptions,
  type ResponseEvent,
  type Result,
  type RetryEvent,
  type SuccessEvent,
  type Transaction,
  type WaitEvent,
  type WriteOptions,
} from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { expect, expectTypeOf, test } from 'vitest'
import * as z from 'zod'
import { account } from '../support.ts'

// The types are checked by `npm run types`, the values by running the tests: a type must not promise what is not there.
const { baseUrl, apiKey, fetch } = new FakeService({ transactions: sampleTransactions(3) })
const client = new Client({ baseUrl, apiKey, fetch })

test('a header may be undefined', () => {
  const traceOf = (): string | undefined => undefined
  const headers = { 'X-Trace': traceOf() }
  expect(new Client({ baseUrl, apiKey, fetch, headers })).toBeInstanceOf(Client)
})

test('options may come from the environment; what is not set throws', () => {
  const env: Record<string, string | undefined> = {}
  expect(() => new Client({ baseUrl: env.BASE_URL, apiKey })).toThrow(TypeError)
  expect(() => new Client({ baseUrl, apiKey: env.API_KEY })).toThrow(TypeError)
})

test('a list is a list of transactions', async () => {
  const list = client.transactions.list()
  expectTypeOf(list).toEqualTypeOf<List<Transaction>>()
  const page = await list
  expectTypeOf(page).toEqualTypeOf<Page<Transaction>>()
  for (const transaction of page.data) {
    expectTypeOf(transaction).toEqualTypeOf<Transaction>()
    expect(typeof transaction.amount).toBe('number')
  }
})

test('a list with a schema is a list of its output', async () => {
  const schema = z.object({ id: z.string() }).transform(({ id }) => id.length)
  const list = client.transactions.list({}, { schema })
  expectTypeOf(list).toEqualTypeOf<List<number>>()
  expect((await list).data).toEqual([23, 23, 23])
  const same = client.list('/transactions', { limit: 2 }, { schema, itemKey: length => length })
  expectTypeOf(same).toEqualTypeOf<List<number>>()
  for await (const length of same) expect(length).toBe(23)
})

test('a transaction has no other fields than the specified ones, so that misspelt ones do not compile', async () => {
  const [transaction] = (await client.transactions.list()).data
  expectTypeOf<keyof Transaction>().toEqualTypeOf<'id' | 'amount' | 'currency' | 'description'>()
  // @ts-expect-error
  expect(transaction?.ammount).toBe(undefined)
})

test('the data of a write is the output of its schema, and unknown without one', async () => {
  const plain = await client.virtualAccounts.reactivate(account)
  expectTypeOf(plain).toEqualTypeOf<Result<unknown, string>>()
  const schema = z.undefined().transform(() => 'empty' as const)
  const result = await client.virtualAccounts.deactivate(account, { schema })
  expectTypeOf(result).toEqualTypeOf<Result<'empty', string>>()
  expect(result.data).toBe('empty')
  const other = () => client.request('PUT', '/x', { query: { a: [1, 'b'], c: undefined } })
  expectTypeOf(other).returns.resolves.toEqualTypeOf<Result<unknown, string>>()
  const read = () => client.request('GET', '/x')
  expectTypeOf(read).returns.resolves.toEqualTypeOf<Result<unknown, undefined>>()
  const any = (method: HttpMethod) => client.request(method, '/x')
  expectTypeOf(any).returns.resolves.toEqualTypeOf<Result<unknown, string | undefined>>()
  await expect(other()).rejects.toMatchObject({ status: 404 })
})

test('without a schema nothing is promised, whatever the result is assigned to', async () => {
  // @ts-expect-error
  const list: List<{ iban: string }> = client.transactions.list()
  // @ts-expect-error
  const same: List<{ iban: string }> = client.transactions.list({}, { limit: undefined } as ListOptions)
  // @ts-expect-error
  const result: Result<{ state: string }, string> = await client.virtualAccounts.deactivate(account)
  // @ts-expect-error
  const { data }: { data: { balance: number } } = await client.request('POST', '/x').catch(() => result)
  // @ts-expect-error
  const again = () => client.virtualAccounts.reactivate<{ state: string }>(account)
  expect([(await list).data.length, same, data, again]).toMatchObject([3, {}, undefined, {}])
})

test('a call accepts options that may have a schema', async () => {
  const options: WriteOptions = {}
  const write = await client.virtualAccounts.deactivate(account, options)
  expectTypeOf(write).toEqualTypeOf<Result<unknown, string>>()
  const listOptions: ListOptions<Transaction> = {}
  expectTypeOf(client.transactions.list({}, listOptions)).toEqualTypeOf<List<Transaction>>()
})

test('`kind` narrows an error', async () => {
  const error: unknown = await client.request('GET', '/nowhere').catch((error: unknown) => error)
  if (!isApiError(error)) throw error
  expectTypeOf(error).toEqualTypeOf<AnyApiError>()
  if (error.kind !== 'http') throw error
  expectTypeOf(error).toEqualTypeOf<HttpError>()
  expect(error.status).toBe(404)
  expectTypeOf<AnyApiError['kind']>().toEqualTypeOf<
    'http' | 'connection' | 'timeout' | 'aborted' | 'invalid-response' | 'pagination'
  >()
  expectTypeOf<Extract<AnyApiError, { kind: 'timeout' }>['timeoutMs']>().toEqualTypeOf<number>()
})

test('`type` narrows an event', async () => {
  const events: ClientEvent[] = []
  await client.withOptions({ onEvent: event => void events.push(event) }).transactions.list()
  const [request, response] = events
  if (request?.type !== 'request' || response?.type !== 'response') throw new Error('expected two events')
  expectTypeOf(request).toEqualTypeOf<RequestEvent>()
  expectTypeOf(response).toEqualTypeOf<ResponseEvent>()
  expect(response.status).toBe(200)
  expectTypeOf<ClientEvent>().toEqualTypeOf<
    | RequestEvent
    | ResponseEvent
    | RetryEvent
    | WaitEvent
    | SuccessEvent
    | FailureEvent
    | DriftEvent
    | EndEvent
  >()
})

test('the options of each kind of call have types of their own', () => {
  expectTypeOf<WriteOptions>().toExtend<RequestOptions>()
  expectTypeOf<ListOptions>().toExtend<RequestOptions>()
  expectTypeOf<RequestOptions>().not.toHaveProperty('concurrency')
  expectTypeOf<ListOptions>().not.toHaveProperty('idempotencyKey')
  expectTypeOf<HttpMethod>().toEqualTypeOf<'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'>()
  // A list without a schema would have items of an unknown type.
  // @ts-expect-error
  expect(() => client.list('/refunds', {}, {})).toThrow(TypeError)
})
