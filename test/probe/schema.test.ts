import { Client } from 'virtual-accounts'
import { type InferSchemaOptions, inferSchema } from 'virtual-accounts/testing'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { checkEach, rejectionOf } from '../support.ts'
import {
  changePages,
  type Deviation,
  deviate,
  json,
  type PageBody,
  respond,
  service,
  skipPauses,
} from './service.ts'

beforeEach(() => service.reset())

const { baseUrl, apiKey } = service

/** The schema of a list of these items, as code and as a value. */
async function infer(
  items: unknown[],
  deviations: readonly Deviation[] = [],
  options: Partial<InferSchemaOptions> = {},
) {
  service.serveList('/refunds', items)
  const fetch = deviate(...deviations)
  skipPauses()
  const code = await inferSchema({ baseUrl, apiKey, fetch, path: '/refunds', ...options }).finally(() =>
    vi.unstubAllGlobals(),
  )
  return { code, schema: evaluate(code), client: new Client({ baseUrl, apiKey, fetch }) }
}

function evaluate(code: string): z.ZodType {
  const [, expression] =
    /^export const refundsSchema = ([\s\S]*?)\n\nexport type Refunds(?:Item|Body) = z\.infer<typeof refundsSchema>$/m.exec(
      code,
    ) ?? []
  return new Function('z', `return ${expression}`)(z)
}

const accepts = (schema: z.ZodType, value: unknown) => schema.safeParse(value).success

test('every field has its type, is optional where an item lacks it, and nullable where it is null', async () => {
  const { code } = await infer([
    {
      id: 'r1',
      amount: 1.5,
      isPaid: true,
      note: null,
      tags: ['a'],
      lines: [{ sku: 'x', count: 1 }],
      'odd name': [],
    },
    {
      id: 'r2',
      amount: 2,
      isPaid: false,
      note: 'n',
      tags: [],
      lines: [{ sku: 'y' }],
      'odd name': [],
      late: null,
    },
    { id: 3, amount: 2, isPaid: false, note: 'n', tags: [1, null], lines: [], 'odd name': [] },
  ])
  expect(code).toMatchInlineSnapshot(`
    "// From 3 items of /refunds, on 1 of 1 page.
    import * as z from 'zod'

    export const refundsSchema = z.looseObject({
      id: z.union([z.string(), z.number()]),
      amount: z.number(),
      isPaid: z.boolean(),
      note: z.string().nullable(),
      tags: z.array(z.union([z.string(), z.number()]).nullable()),
      lines: z.array(z.looseObject({
        sku: z.string(),
        count: z.number().optional(),
      })),
      'odd name': z.array(z.unknown()),
      late: z.unknown().optional(), // only null was seen
    })

    export type RefundsItem = z.infer<typeof refundsSchema>

    // To read it, save this file as refunds.mts, remove the slashes from the lines below, and run:
    // npm install zod virtual-accounts @types/node && node refunds.mts
    //
    // import { Client } from 'virtual-accounts'
    //
    // const client = new Client({
    //   baseUrl: 'https://virtual-accounts.test',
    //   apiKey: process.env.API_KEY ?? '',
    // })
    // const list = client.list('/refunds', { limit: 100 }, { schema: refundsSchema })
    // for await (const item of list) console.log(item)"
  `)
})

test('the schema parses the items that it was made from, as a schema of client.list, and yields them unchanged', async () => {
  const items: unknown[] = [
    { id: 'a', nested: { deep: { deeper: [{ x: 1 }, { y: [null] }] } }, mixed: 'text', 'a-b': 1 },
    { id: 'b', nested: { deep: null }, mixed: 7, toString: 'own', 'new\nline': false },
    { id: 'c', nested: {}, mixed: [1], constructor: 1 },
  ]
  const { schema, client } = await infer(items)
  const page = await client.list('/refunds', {}, { schema })
  expect(page.data).toEqual(items)
})

/** Items with a record whose keys, as ids would, differ from item to item. */
function dictionaries(count: number): unknown[] {
  return Array.from({ length: count }, (_, index) => ({ sums: { [`k${index}`]: index } }))
}

test('items may be of any type', () =>
  checkEach<[name: string, items: unknown[], accepted: unknown, refused: unknown]>(
    [
      ['strings', ['a', 'b'], 'c', 1],
      ['strings and null', ['a', null], null, 1],
      ['lists', [[1], ['a']], [2, 'b'], [true]],
      ['objects and numbers', [{ id: 1 }, 2], { id: 3 }, { id: 'x' }],
      ['nothing but null', [null], 'anything', undefined],
      ['records with keys of their own', dictionaries(30), { sums: { k99: 1.5 } }, { sums: { k99: '1.5' } }],
    ],
    async ([, items, accepted, refused]) => {
      const { schema } = await infer(items)
      expect(accepts(schema, accepted)).toBe(true)
      if (refused !== undefined) expect(accepts(schema, refused)).toBe(false)
    },
  ))

test('a string is never an enum, and a field that is only null may become anything', async () => {
  const { schema } = await infer([{ status: 'open', closedAt: null }])
  expect(accepts(schema, { status: 'another', closedAt: '2026-11-21', further: 1 })).toBe(true)
})

test('numbers that a double cannot hold are accepted as the client returns them: as strings', async () => {
  const long = changePages(
    page => page,
    text => text.replaceAll('"sequence":1', '"sequence":12345678901234567890'),
  )
  const { schema, client } = await infer([{ sequence: 1 }], [long])
  const page = await client.list('/refunds', {}, { schema })
  expect(page.data).toEqual([{ sequence: '12345678901234567890' }])
  expect(accepts(schema, { sequence: 5 })).toBe(true)
})

test('pages of the whole list are read, at most five', async () => {
  const items = Array.from({ length: 1150 }, (_, index) =>
    index < 1140 ? { id: index } : { id: index, old: true },
  )
  const { code } = await infer(items)
  expect(code).toContain('old: z.boolean().optional()')
  expect(code).toContain(
    '// From 450 items of /refunds, on 5 of 12 pages.\n// If others differ, a loop throws, and names',
  )
  expect(service.requests.map(({ query }) => query.page)).toEqual(['1', '3', '6', '9', '12'])
})

test('a service may refuse the limit', async () => {
  const items = Array.from({ length: 60 }, (_, id) => ({ id }))
  const refuse = respond((_, query) => (query.has('limit') ? json({}, 400) : undefined))
  const { code } = await infer(items, [refuse])
  expect(code).toContain('// From 60 items of /refunds, on 3 of 3 pages.')
})

test('a page that is read again, without its limit, counts once', async () => {
  const items = Array.from({ length: 300 }, (_, id) => ({ id }))
  const cap = changePages((page, query) =>
    query.has('limit') ? { ...page, data: page.data.slice(0, 50) } : page,
  )
  const { code } = await infer(items, [cap])
  expect(code).toContain('// From 100 items of /refunds, on 5 of 15 pages.\n// If others differ')
})

test('what is no page of a list gets the schema of its whole body, for client.request', () =>
  checkEach<[name: string, body: (page: { data: unknown[] }) => unknown, problem: string]>(
    [
      [
        'another envelope',
        ({ data }) => ({ items: data }),
        'no data, page, totalItems, limit; the object has items',
      ],
      ['an array', ({ data }) => data, 'expected an object, got an array'],
    ],
    async ([, change, problem]) => {
      service.reset()
      const { code, schema, client } = await infer([{ id: 1 }, { id: 2, note: null }], [changePages(change)])
      expect(code).toContain(
        `// From one response of /refunds, and for one response:\n// this is no page of a list: ${problem}.`,
      )
      expect(code).toContain(
        "// const { data } = await client.request('GET', '/refunds', { schema: refundsSchema })",
      )
      const { data } = await client.request('GET', '/refunds', { schema })
      expect(JSON.stringify(data)).toContain('"note":null')
      expect(accepts(schema, { items: [{ note: null }] })).toBe(false)
    },
  ))

test('pages that are not those of one list are not taken for the whole list', () =>
  checkEach<[name: string, change: (page: PageBody) => unknown]>(
    [
      ['they hold fewer items than the total says', page => ({ ...page, totalItems: 190 })],
      ['they hold more', page => ({ ...page, totalItems: 110 })],
      ['one lacks an item', page => (page.page === 2 ? { ...page, data: page.data.slice(1) } : page)],
      ['they have another number', page => ({ ...page, page: 1 })],
    ],
    async ([, change]) => {
      service.reset()
      const items = Array.from({ length: 150 }, (_, id) => ({ id }))
      const { code } = await infer(items, [changePages(change)])
      expect(code).toContain('\n// The pages do not add up')
    },
  ))

test('a limit that the service echoes and does not obey is not in the example', async () => {
  const items = Array.from({ length: 150 }, (_, id) => ({ id }))
  const { code } = await infer(items, [changePages(page => ({ ...page, data: page.data.slice(0, 50) }))])
  expect(code).toContain("client.list('/refunds', {}, ")
})

test('the names are made of the path', () =>
  checkEach<[path: string, schema: string, type: string]>(
    [
      ['/customers/c1/virtual_accounts/', 'virtualAccountsSchema', 'VirtualAccountsItem'],
      ['/v2/2nd-list.json', 'ndListJsonSchema', 'NdListJsonItem'],
      ['/new', 'newSchema', 'NewItem'],
      ['/123', 'listSchema', 'ListItem'],
    ],
    async ([path, schema, type]) => {
      service.serveList(path, [{ id: 1 }])
      const { code } = await infer([], [], { path })
      expect(code).toContain(`export const ${schema} = `)
      expect(code).toContain(`export type ${type} = z.infer<typeof ${schema}>`)
    },
  ))

test('a page that fails is left out, and the file says so', async () => {
  const items = Array.from({ length: 250 }, (_, id) => ({ id }))
  const fail = respond((_, query) => (query.get('page') === '2' ? json({}, 500) : undefined))
  const { code } = await infer(items, [fail])
  expect(code).toContain('// From 150 items of /refunds, on 2 of 3 pages')
  expect(code).toContain('\n// The pages do not add up')
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
    const text = `{${names.map(name => `${JSON.stringify(name)}:1`).join()}}`
    const { code, schema } = await infer(
      [0],
      [
        changePages(
          page => page,
          body => body.replace('[0]', `[${text}]`),
        ),
      ],
    )
    expect(code).toMatch(/^[\n -~]*$/)
    expect(accepts(schema, JSON.parse(text))).toBe(true)
    expect(accepts(schema, { ...JSON.parse(text), '`': 'a' })).toBe(false)
    expect('stolen' in globalThis).toBe(false)
    expect(Object.keys((schema as z.ZodObject).shape)).toEqual(names.filter(name => name !== '__proto__'))
  })

  test('does not get the API key into the schema', async () => {
    const { code } = await infer([{ id: 1, [`x${apiKey}`]: 2 }])
    expect(code).not.toContain(apiKey)
  })

  test('does not get a value into the schema, either of an item or of what is no list', async () => {
    const { code } = await infer([{ id: 4711, note: 'private' }])
    expect(code).not.toMatch(/4711|private/)
    const card = { id: 'c1', limit: 2500.5, page: -4711, totalItems: 'private' }
    const { code: ofBody } = await infer([1], [respond(() => json(card))])
    expect(ofBody).not.toMatch(/2500|4711|private/)
  })

  test('gets a short schema that accepts its items', () =>
    checkEach<[name: string, item: () => unknown]>(
      [
        ['5,000 fields', () => fields(5_000, () => 1)],
        ['300 fields of 300 fields each', () => fields(300, () => fields(300, () => 1))],
        ['objects in objects, 3,000 deep', () => nested(3_000)],
        ['names of 100,000 characters', () => ({ ['x'.repeat(100_000)]: 1, id: 1 })],
        [
          '20,000 items in a field',
          () => ({ tags: Array.from({ length: 20_000 }, (_, index) => ({ [`f${index}`]: 1 })) }),
        ],
      ],
      async ([, item]) => {
        const { code, schema } = await infer([item()])
        expect(code.length).toBeLessThan(100_000)
        expect(code).toContain('are left out')
        expect(accepts(schema, item())).toBe(true)
      },
    ))

  const fields = (count: number, value: () => unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`field${index}`, value()]))
  const nested = (depth: number): unknown => {
    let value: unknown = 1
    for (let left = depth; left > 0; left--) value = left % 2 ? { inner: value } : [value]
    return value
  }
})

describe('there is no schema', () => {
  test('of what is no list with items, and the error says so', () =>
    checkEach<[name: string, items: unknown[], deviations: Deviation[], message: string]>(
      [
        ['of an empty list', [], [], 'GET /refunds: no item was read to make a schema from.'],
        ['of an HTML page', [1], [respond(() => new Response('<h1>Log in</h1>'))], 'got HTML'],
        ['where the path is unknown', [1], [respond(() => json({}, 404))], 'GET /refunds: HTTP 404'],
      ],
      async ([, items, deviations, message]) => {
        await expect(infer(items, deviations)).rejects.toThrow(message)
      },
    ))

  test('for wrong options', () =>
    checkEach<[name: string, options: object]>(
      [
        ['path', { path: 'refunds' }],
        ['path', { path: undefined }],
        ['account', { account: {} }],
      ],
      async ([name, options]) => {
        const error = await rejectionOf(infer([1], [], options))
        expect(error).toBeInstanceOf(TypeError)
        expect(String(error)).toMatch(new RegExp(`^TypeError: ${name}: `))
      },
    ))
})
