import * as devalue from 'devalue'
import { expect as jestExpect } from 'expect'
import * as seroval from 'seroval'
import superjson from 'superjson'
import { Client } from 'virtual-accounts'
import { expect, test } from 'vitest'
import { checkEach } from '../support.ts'
import { account, service } from './guide.ts'

// What a call resolves with is passed to caches, to threads and, by frameworks, to browsers. React Server Components are in
// consumers/next.

const { baseUrl, apiKey, fetch } = service
const client = new Client({ baseUrl, apiKey, fetch })

interface Given {
  readonly value: object
  /** What a copy must equal. */
  readonly data: object
}

async function createGivens(): Promise<[name: string, given: Given][]> {
  const items = service.transactions.slice(0, 2)
  const page = await client.transactions.list({ limit: 2 })
  const { value: batch } = await client.transactions.list({ limit: 2 }).batches().next()
  service.fail({ with: Response.json({ state: 'closed' }) })
  const result = await client.virtualAccounts.deactivate(account, { idempotencyKey: 'job-17' })
  const counts = { page: 1, totalItems: 250, limit: 2, pageCount: 125, hasNextPage: true }
  const cursor = (batch as { cursor: string }).cursor
  return [
    ['a page', { value: page, data: { data: items, ...counts } }],
    ['a batch', { value: batch as object, data: { items, cursor, totalItems: 250, hasMore: true } }],
    [
      'a result',
      { value: result, data: { data: { state: 'closed' }, attempts: 1, idempotencyKey: 'job-17' } },
    ],
  ]
}

const serializers: [name: string, copy: (value: object) => unknown][] = [
  ['structuredClone', structuredClone],
  ['JSON', value => JSON.parse(JSON.stringify(value))],
  ['superjson, as in tRPC', value => superjson.parse(superjson.stringify(value))],
  ['seroval, as in Solid and TanStack Start', value => seroval.fromJSON(seroval.toJSON(value))],
  ['devalue, as in SvelteKit', value => devalue.parse(devalue.stringify(value))],
]

test('pages, batches and results pass through every serializer as plain data', async () => {
  const givens = await createGivens()
  await checkEach(serializers, ([, copy]) =>
    checkEach(givens, ([, { value, data }]) => expect(copy(value)).toStrictEqual(data)),
  )
})

test('JSON has what the object holds now', async () => {
  for (const [, { value }] of await createGivens()) {
    Object.assign(value, { data: [], items: [] })
    expect(JSON.parse(JSON.stringify(value))).toMatchObject({ data: [], items: [] })
  }
})

test('test runners compare pages, batches and results by their data', async () => {
  for (const [, { value, data }] of await createGivens()) {
    expect(value).toEqual(data)
    expect(value).not.toEqual({ ...data, totalItems: 7 })
    jestExpect(value).toEqual(data)
    jestExpect(value).not.toEqual({ ...data, totalItems: 7 })
  }
})
