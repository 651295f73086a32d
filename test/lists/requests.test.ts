import type { ListOptions, ListParams, Transaction } from 'virtual-accounts'
import { FakeService, type FakeServiceOptions, sampleTransactions } from 'virtual-accounts/testing'
import { expect, test } from 'vitest'
import { createClient } from '../service.ts'
import { checkEach } from '../support.ts'
import { collect, type Envelope, envelopeOf, iterateToError } from './lists.ts'

// The exact requests of loops over unchanged lists, at concurrency 1. No other test has them.

interface Row {
  readonly service: string
  readonly items: number
  readonly params?: ListParams
  readonly options?: ListOptions<Transaction>
  /** `page/limit` of each request. `true` and `false` (`verified`) only if they differ. `!`: it throws. */
  readonly default: string
  readonly true?: string
  readonly false?: string
}

const plain =
  (options: FakeServiceOptions = {}) =>
  (items: number) =>
    new FakeService({ transactions: sampleTransactions(items), ...options }).fetch

type Respond = (page: number, limit: number, all: readonly unknown[]) => Envelope | number

const custom = (respond: Respond) => (items: number) => async (url: string) => {
  const query = new URL(url).searchParams
  const all = sampleTransactions(items)
  const response = respond(Number(query.get('page')), Number(query.get('limit') ?? 20), all)
  return typeof response === 'number' ? new Response(null, { status: response }) : Response.json(response)
}

const services: Record<string, (items: number) => (url: string, init: RequestInit) => Promise<Response>> = {
  plain: plain(),
  'lowers limits to 50': plain({ maxLimit: 50 }),
  'refuses smaller limits': custom((page, limit, all) => (limit < 20 ? 422 : envelopeOf(all, page, limit))),
  'ignores the limit': custom((page, _, all) => envelopeOf(all, page, 20)),
  'a fixture of 20 a page that repeats the limit': custom((page, limit, all) => ({
    ...envelopeOf(all, page, 20),
    limit,
  })),
  '404 beyond the end': custom((page, limit, all) =>
    (page - 1) * limit < all.length ? envelopeOf(all, page, limit) : 404,
  ),
}

const rows: Row[] = [
  { service: 'plain', items: 0, params: { limit: 20 }, default: '1/20' },
  { service: 'plain', items: 5, params: { limit: 20 }, default: '1/20' },
  // The total may lag behind: only another page proves that a full one is the last.
  { service: 'plain', items: 20, params: { limit: 20 }, default: '1/20 2/19', false: '1/20' },
  { service: 'plain', items: 21, params: { limit: 20 }, default: '1/20 2/19', false: '1/20 2/20' },
  { service: 'plain', items: 40, params: { limit: 20 }, default: '1/20 2/19 3/18', false: '1/20 2/20' },
  {
    service: 'plain',
    items: 100,
    params: { limit: 20 },
    default: '1/20 2/19 3/18 4/17 4/20 5/19 6/18',
    false: '1/20 2/20 3/20 4/20 5/20',
  },
  {
    service: 'plain',
    items: 250,
    params: { limit: 50 },
    default: '1/50 2/49 3/48 4/47 5/46 6/45',
    false: '1/50 2/50 3/50 4/50 5/50',
  },
  {
    service: 'plain',
    items: 450,
    params: { limit: 100 },
    default: '1/100 2/99 3/98 4/97 5/96',
    false: '1/100 2/100 3/100 4/100 5/100',
  },
  { service: 'plain', items: 12, params: { limit: 5 }, default: '1/5 2/4 2/5 3/4 3/5', false: '1/5 2/5 3/5' },
  // Where every allowed limit ends a page, a larger one continues.
  { service: 'plain', items: 3, params: { limit: 1 }, default: '1/1 1/2 1/3 2/2', false: '1/1 2/1 3/1' },
  // The default limit is 100, except for a loop from a later page, which would be another page at that limit.
  { service: 'plain', items: 45, default: '1/100' },
  { service: 'plain', items: 250, default: '1/100 2/99 3/98', false: '1/100 2/100 3/100' },
  { service: '404 beyond the end', items: 70, params: { page: 3 }, default: '3/ 4/19', false: '3/ 4/' },
  { service: 'lowers limits to 50', items: 120, default: '1/100 2/49 3/48', false: '1/100 2/100 3/100' },
  {
    service: 'lowers limits to 50',
    items: 120,
    params: { limit: 100 },
    default: '1/100 2/49 3/48',
    false: '1/100 2/100 3/100',
  },
  {
    service: 'plain',
    items: 100,
    params: { page: 3, limit: 20 },
    default: '3/20 4/19 5/18 6/17',
    false: '3/20 4/20 5/20',
  },
  { service: 'plain', items: 100, params: { page: 9, limit: 20 }, default: '9/20' },
  { service: 'plain', items: 100, params: { limit: 20 }, options: { maxItems: 0 }, default: '' },
  { service: 'plain', items: 100, params: { limit: 20 }, options: { maxItems: 20 }, default: '1/20' },
  {
    service: 'plain',
    items: 100,
    params: { limit: 20 },
    options: { maxItems: 21 },
    default: '1/20 2/19',
    false: '1/20 2/20',
  },
  // One window shows that pages cannot overlap.
  ...['refuses smaller limits', 'ignores the limit', 'a fixture of 20 a page that repeats the limit'].map(
    service => ({
      service,
      items: 60,
      params: { limit: 20 },
      default: '1/20 2/19 2/20 3/20',
      // The refused request is repeated for its error.
      true: service === 'refuses smaller limits' ? '1/20 2/19 2/19 !' : '1/20 2/19 !',
      false: '1/20 2/20 3/20',
    }),
  ),
  {
    service: '404 beyond the end',
    items: 57,
    params: { limit: 20 },
    default: '1/20 2/19 3/18 4/17',
    false: '1/20 2/20 3/20',
  },
]

// Fields on Object.prototype must not be read in place of missing ones.
const onPrototype = [{}, { limit: 7, expectedLimit: 7 }, { overlaps: true }, { accepts: () => true }]

test.each(onPrototype)('each request of a loop, with %j on Object.prototype', polluted =>
  checkEach(
    rows.flatMap(row =>
      (['default', 'true', 'false'] as const).map(mode => {
        const { service, items, params, options, ...expected } = row
        const verified = { default: undefined, true: true, false: false }[mode]
        const name = [service, items, JSON.stringify({ ...params, ...options }), mode].join(', ')
        const requests = expected[mode] ?? expected.default
        return [name, { service, items, params, options: { ...options, verified }, requests }] as const
      }),
    ),
    async ([, { service, items, params, options, requests }]) => {
      const sent: string[] = []
      const respond = services[service]?.(items)
      const fetch = async (url: string, init: RequestInit) => {
        const query = new URL(url).searchParams
        sent.push(`${query.get('page')}/${query.get('limit') ?? ''}`)
        return (await respond?.(url, init)) as Response
      }
      const list = createClient({ fetch }).transactions.list(params, { concurrency: 1, ...options })
      const isRefused = requests.endsWith('!')
      Object.assign(Object.prototype, polluted)
      const reading = isRefused ? iterateToError(list).then(({ before }) => before) : collect(list)
      const read = await reading.finally(() => {
        for (const name of Object.keys(polluted)) delete (Object.prototype as Record<string, unknown>)[name]
      })
      expect(`${sent.join(' ')}${isRefused ? ' !' : ''}`).toBe(requests)
      const start = ((params?.page ?? 1) - 1) * (params?.limit ?? 20)
      const end = Math.min(items, start + (options.maxItems ?? items))
      if (!isRefused) expect(read).toEqual(sampleTransactions(items).slice(start, end))
    },
  ),
)
