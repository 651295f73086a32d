import {
  type AnyApiError,
  Client,
  type HttpError,
  isApiError,
  type List,
  type Page,
  type Result,
  type Transaction,
} from 'virtual-accounts'
import { FakeService } from 'virtual-accounts/testing'
import { expectTypeOf, test } from 'vitest'
import * as z from 'zod'

// Checked by `npm run types`; nothing here needs an answer.
const { baseUrl, apiKey, fetch } = new FakeService()
const client = new Client({ baseUrl, apiKey, fetch })
const account = { customerId: 'c1', virtualAccountId: 'v1' }

test('a list is of transactions, and of what a schema puts out', () => {
  const schema = z.object({ id: z.string() }).transform(({ id }) => id.length)
  expectTypeOf(client.transactions.list()).toEqualTypeOf<List<Transaction>>()
  expectTypeOf(client.transactions.list({}, { schema })).toEqualTypeOf<List<number>>()
  expectTypeOf(client.list('/x', { limit: 2 }, { schema, dedupeBy: length => length })).toEqualTypeOf<
    List<number>
  >()
  const page = async () => await client.transactions.list()
  expectTypeOf(page).returns.resolves.toEqualTypeOf<Page<Transaction>>()
  expectTypeOf<Transaction['status']>().toEqualTypeOf<unknown>()
})

test('a write gives what a schema puts out, and unknown without one', () => {
  const schema = z.object({ status: z.string() })
  const write = () => client.virtualAccounts.deactivate(account, { schema })
  expectTypeOf(write).returns.resolves.toEqualTypeOf<Result<{ status: string }>>()
  const plain = () => client.virtualAccounts.reactivate(account)
  expectTypeOf(plain).returns.resolves.toEqualTypeOf<Result<unknown>>()
  const other = () => client.request('PUT', '/x', { query: { a: [1, 'b'], c: undefined } })
  expectTypeOf(other).returns.resolves.toEqualTypeOf<Result<unknown>>()
})

test('`kind` narrows a failure', () => {
  const error: unknown = undefined
  if (isApiError(error)) {
    expectTypeOf(error).toEqualTypeOf<AnyApiError>()
    if (error.kind === 'http') expectTypeOf(error).toEqualTypeOf<HttpError>()
    if (error.kind === 'timeout') expectTypeOf(error.timeoutMs).toEqualTypeOf<number>()
  }
})
