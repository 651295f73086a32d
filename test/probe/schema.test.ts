import { Client } from 'virtual-accounts'
import { type InferSchemaOptions, inferSchema } from 'virtual-accounts/probe'
import { FakeService } from 'virtual-accounts/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { checkEach, rejectionOf } from '../support.ts'

const service = new FakeService({ maxLimit: 1_000 })
const { baseUrl, apiKey } = service

beforeEach(() => service.reset())

/** The schema of a list of these items, as code and as a value. */
async function infer(items: unknown[], options: Partial<InferSchemaOptions> = {}) {
  service.serveList('/refunds', items)
  const given = { baseUrl, apiKey, fetch: service.fetch, maxRetries: 0, path: '/refunds', ...options }
  const code = await inferSchema(given)
  const client = new Client({ baseUrl, apiKey, fetch: service.fetch })
  return { code, schema: evaluate(code), client }
}

function evaluate(code: string): z.ZodType {
  const [, expression] = /^export const \w+Schema = ([\s\S]*?)\n\nexport type /m.exec(code) ?? []
  return new Function('z', `return ${expression}`)(z)
}

const accepts = (schema: z.ZodType, value: unknown) => schema.safeParse(value).success
const range = <T>(count: number, item: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => item(index))

test('every field has its type, is optional where an item lacks it, and nullable where it is null', async () => {
  const item = { id: 'r1', amount: 1.5, isPaid: true, note: null, 'odd name': [] }
  const { code } = await infer([
    { ...item, tags: ['a'], lines: [{ sku: 'x', count: 1 }] },
    { ...item, tags: [], lines: [{ sku: 'y' }], note: 'n', late: null },
    { ...item, tags: [1, null], lines: [], id: 3 },
  ])
  expect(code).toMatchInlineSnapshot(`
    "// From 3 items of /refunds, on 1 of 1 page. Other items may differ.
    import type { Client, ListOptions } from 'virtual-accounts'
    import * as z from 'zod'

    export const refundsSchema = z.looseObject({
      id: z.union([z.string(), z.number()]),
      amount: z.number(),
      isPaid: z.boolean(),
      note: z.string().nullable(),
      'odd name': z.array(z.unknown()),
      tags: z.array(z.union([z.string(), z.number()]).nullable()),
      lines: z.array(z.looseObject({
        sku: z.string(),
        count: z.number().optional(),
      })),
      late: z.unknown().optional(), // only null was seen
    })

    export type RefundsItem = z.infer<typeof refundsSchema>

    /**
     * @example
     * for await (const item of listRefunds(client)) console.log(item)
     */
    export function listRefunds(
      client: Client,
      options?: ListOptions<RefundsItem>,
    ) {
      return client.list('/refunds', { limit: 100 }, {
        ...options,
        schema: refundsSchema,
        itemKey: item => item.id,
      })
    }"
  `)
})

test('the schema parses the items that it was made from, and yields them unchanged', async () => {
  const items: unknown[] = [
    { id: 'a', nested: { deep: { deeper: [{ x: 1 }, { y: [null] }] } }, mixed: 'text', 'a-b': 1 },
    { id: 'b', nested: { deep: null }, mixed: 7, toString: 'own', 'new\nline': false },
    { id: 'c', nested: {}, mixed: [1], constructor: 1 },
  ]
  const { schema, client } = await infer(items)
  const page = await client.list('/refunds', {}, { schema })
  expect(page.data).toEqual(items)
})

test('items may be of any type', () =>
  checkEach<[name: string, items: unknown[], accepted: unknown, refused: unknown]>(
    [
      ['strings', ['a', 'b'], 'c', 1],
      ['strings and null', ['a', null], null, 1],
      ['lists', [[1], ['a']], [2, 'b'], [true]],
      ['objects and numbers', [{ id: 1 }, 2], { id: 3 }, { id: 'x' }],
      ['nothing but null', [null], 'anything', undefined],
      [
        'ids as names',
        range(30, index => ({ sums: { [`k${index}`]: index } })),
        { sums: { k99: 1.5 } },
        { sums: { k99: '1.5' } },
      ],
    ],
    async ([, items, accepted, refused]) => {
      const { schema } = await infer(items)
      expect(accepts(schema, accepted)).toBe(true)
      if (refused !== undefined) expect(accepts(schema, refused)).toBe(false)
    },
  ))

test('pages of the whole list are read, at most five', async () => {
  const { code } = await infer(range(1150, id => (id < 1140 ? { id } : { id, old: true })))
  expect(code).toContain('old: z.boolean().optional()')
  expect(code).toContain('// From 450 items of /refunds, on 5 of 12 pages. Other items may differ.')
  expect(service.requests.map(({ query }) => query.page)).toEqual(['1', '3', '6', '9', '12'])
})

test('a refused limit is not in the code, and a page that fails is named', async () => {
  for (const with_ of [400, 200, 500]) {
    const body = { data: [{ id: 1 }], page: 1, totalItems: 40, limit: 20 }
    service.fail({ path: '/refunds', with: Response.json(with_ === 200 ? body : {}, { status: with_ }) })
  }
  const { code } = await infer([])
  expect(code).toContain("client.list('/refunds', {}, {")
  expect(code).toContain('// From 1 item of /refunds, on 1 of 2 pages')
  expect(code).toMatch(/^\/\/ Not read: GET \/refunds \(page 2\): HTTP 500/m)
})

test('items without ids get no itemKey, but a comment', async () => {
  const { code } = await infer([{ amount: 1 }])
  expect(code).toMatch(/^ {4}\/\/ Add itemKey .{1,64}$/m)
})

test('a service that cannot be reached is not asked again without a limit', async () => {
  service.fail({ times: 2, with: 'network-error' })
  expect(await rejectionOf(infer([{ id: 'r1' }]))).toMatchObject({ kind: 'connection', limit: 100 })
  expect(service.requests).toHaveLength(1)
})

test('a body that is not a list page gets a schema of the whole, for client.request', async () => {
  const with_ = () => Response.json({ items: [{ id: 4711, note: null }] })
  service.fail({ path: '/refunds', times: 3, with: with_ })
  const { code, schema, client } = await infer([])
  expect(code).toMatch(/^\/\/ The response is not a list: GET \/refunds(.*\n\/\/ )+.*\nimport type /)
  expect(code).toContain('export type RefundsResponse = z.infer<typeof refundsSchema>\n')
  for (const line of code.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  expect(code).toContain("  return client.request('GET', '/refunds', { schema: refundsSchema })\n")
  const { data } = await client.request('GET', '/refunds', { schema })
  expect(data).toEqual({ items: [{ id: 4711, note: null }] })
  expect(accepts(schema, { items: [{ note: null }] })).toBe(false)
})

describe('a hostile service', () => {
  test('cannot put code into the schema by the names of fields', async () => {
    const names = [
      "'); globalThis.stolen = 1; ('",
      '"]: 0, ...(globalThis.stolen = 1) && {}, ["',
      '\u2028globalThis.stolen = 1',
      '*/ globalThis.stolen = 1 /*',
      '\u0000\u001b[31m',
      '\ud800',
      '\\',
      '`',
      '',
      '__proto__',
    ]
    const item = JSON.parse(`{${names.map(name => `${JSON.stringify(name)}:1`).join()}}`)
    service.fail({ with: Response.json({ data: [item], page: 1, totalItems: 1, limit: 20 }) })
    const { code, schema } = await infer([])
    expect(code).toMatch(/^[\n -~]*$/)
    expect(accepts(schema, item)).toBe(true)
    expect(accepts(schema, { ...item, '`': 'a' })).toBe(false)
    expect('stolen' in globalThis).toBe(false)
    expect(Object.keys((schema as z.ZodObject).shape)).toEqual(names.filter(name => name !== '__proto__'))
  })

  test('does not get the API key into it, whatever the key is, and the code stays valid', () =>
    checkEach(['test_key', 'looseObject', 'z.string()', 'unique'], async apiKey => {
      const own = new FakeService({ apiKey })
      own.serveList('/refunds', [{ id: 'a', [`x${apiKey}`]: 2, [apiKey]: { unique: 1 } }])
      const code = await inferSchema({ baseUrl, apiKey, fetch: own.fetch, path: '/refunds' })
      expect(accepts(evaluate(code), { id: 'b' })).toBe(true)
      expect(code).not.toMatch(/xtest_key|test_key|unique/)
    }))

  test('does not get a value into it, either of an item or of what is no list', async () => {
    expect((await infer([{ id: 4711, note: 'private' }])).code).not.toMatch(/4711|private/)
    const card = { id: 'c1', limit: 2500.5, page: -4711, totalItems: 'private' }
    service.fail({ times: 2, with: Response.json(card) })
    expect((await infer([])).code).not.toMatch(/2500|4711|private/)
  })

  test('gets a short schema that accepts its items', () =>
    checkEach<[name: string, item: unknown]>(
      [
        ['5,000 fields', fields(5_000, () => 1)],
        ['300 fields of 300 fields each', fields(300, () => fields(300, () => 1))],
        ['objects in objects, 3,000 deep', nested(3_000)],
        ['names of 100,000 characters', { ['x'.repeat(100_000)]: 1, id: 1 }],
        ['20,000 items in a field', { tags: range(20_000, index => ({ [`f${index}`]: 1 })) }],
      ],
      async ([, item]) => {
        const { code, schema } = await infer([item])
        expect(code.length).toBeLessThan(100_000)
        expect(accepts(schema, item)).toBe(true)
      },
    ))

  const fields = (count: number, value: () => unknown) =>
    Object.fromEntries(range(count, index => [`field${index}`, value()]))
  const nested = (depth: number): unknown => {
    let value: unknown = 1
    for (let left = depth; left > 0; left--) value = left % 2 ? { inner: value } : [value]
    return value
  }
})

test('where there is no schema, the error says why', () =>
  checkEach<[name: string, options: object, message: RegExp]>(
    [
      ['an empty list', {}, /^Error: GET \/refunds: the list is empty/],
      ['an unknown path', { path: '/nothing' }, /^HttpError: GET \/nothing \(page 1\): HTTP 404/],
      ['a wrong path', { path: 'refunds' }, /^TypeError: path: /],
      ['an unknown option', { account: {} }, /^TypeError: account: /],
    ],
    async ([, options, message]) => expect(String(await rejectionOf(infer([], options)))).toMatch(message),
  ))
