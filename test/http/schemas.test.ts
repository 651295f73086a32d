import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { createClient, respondWith, respondWithPage, service, startService } from '../service.ts'
import { account, apiErrorOf, checkEach } from '../support.ts'

startService()

const valid = '{"id":"t1","amount":200,"currency":"AED","description":"Test"}'

describe("a caller's schema", () => {
  test('that the response to a write does not match leaves the outcome unknown; its messages are in `issues` only', async () => {
    const schema = z.object({ status: z.literal('inactive', { error: issue => `not ${issue.input}` }) })
    respondWith('{"status":"active"}')
    const error = await apiErrorOf(
      'invalid-response',
      createClient().virtualAccounts.deactivate(account, { schema }),
    )
    expect(error.issues).toEqual([{ path: ['status'], message: 'not active' }])
    expect(error.message).not.toContain('not active')
    expect(error.outcomeUnknown).toBe(true)
  })

  test('that breaks Standard Schema has not accepted the response', async () => {
    const path = [{ key: Object.create(null) }]
    const validate = () => ({ issues: [{ message: 7, path }] })
    const schema = { '~standard': { version: 1, vendor: 'test', validate } } as never
    const error = await apiErrorOf(
      'invalid-response',
      createClient().request('GET', '/transactions', { schema }),
    )
    expect(error.issues).toHaveLength(1)
  })

  test('that returns no result, but a boolean, has not accepted the response', async () => {
    for (const result of [true, false, Promise.resolve(true)]) {
      const schema = { '~standard': { version: 1, vendor: 'test', validate: () => result } } as never
      const error = await apiErrorOf(
        'invalid-response',
        createClient().request('GET', '/transactions', { schema }),
      )
      expect(error.message).toContain('the response does not match the schema. ')
      expect(error.cause).toMatchObject({ message: 'validate returned neither a value nor issues' })
    }
  })

  test('that fails with issues of any kind has not accepted an item', () =>
    checkEach<[issues: object[]]>([[[]], [[{ message: 'no path' }]]], async ([issues]) => {
      const schema = { '~standard': { version: 1, vendor: 'test', validate: () => ({ issues }) } } as const
      respondWithPage(valid)
      const list = createClient().transactions.list({}, { schema: schema as never })
      expect((await apiErrorOf('invalid-response', list)).issues).toMatchObject([{ path: ['data', 0] }])
    }))

  test('may be asynchronous', async () => {
    const schema = z
      .looseObject({ id: z.string() })
      .refine(async ({ id }) => id !== 'bad')
      .transform(({ id }) => id)
    const ids: string[] = []
    for await (const id of createClient().transactions.list({ limit: 10 }, { schema })) ids.push(id)
    expect(ids).toEqual(service.transactions.map(({ id }) => id))

    respondWithPage('{"id":"bad"}')
    const error = await apiErrorOf('invalid-response', createClient().transactions.list({}, { schema }))
    expect(error.issues[0]?.path).toEqual(['data', 0])
  })

  test('that throws has not accepted the response', async () => {
    const schema = z.unknown().transform(() => {
      throw new RangeError('oops')
    })
    const error = await apiErrorOf(
      'invalid-response',
      createClient().virtualAccounts.deactivate(account, { schema }),
    )
    expect(error.issues).toHaveLength(1)
    expect(error.outcomeUnknown).toBe(true)
    expect(error.cause).toMatchObject({ name: 'RangeError' })
  })

  test('whose output is a promise that rejects has not accepted the response either', async () => {
    const validate = () => ({ value: Promise.reject(new RangeError('oops')) })
    const schema = { '~standard': { version: 1, vendor: 'test', validate } } as const
    const write = createClient().virtualAccounts.deactivate(account, { schema })
    const list = createClient().transactions.list({}, { schema })
    for (const call of [write, list]) {
      const { cause } = await apiErrorOf('invalid-response', call)
      expect(cause).toMatchObject({ name: 'RangeError' })
    }
  })

  test('that throws for one item, and refuses another, is said to have thrown', async () => {
    const schema = z.unknown().transform((item, { issues }) => {
      if (Object.keys(Object(item)).length > 0) throw new RangeError('oops')
      issues.push({ code: 'custom', input: item, message: 'empty' })
    })
    respondWithPage('{},{"id":"t1"}')
    const error = await apiErrorOf('invalid-response', createClient().transactions.list({}, { schema }))
    expect(error.issues[0]?.message).toBe('empty')
    expect(error.message).toContain('error.cause')
    expect(error.cause).toMatchObject({ name: 'RangeError' })
  })

  test('validates each item, and its messages, which may quote values, appear in `issues` only', async () => {
    const quoting = ({ input }: { input: unknown }) => `no id: "${input}", ${input}`
    const schema = z.looseObject({ id: z.string({ error: quoting }) })
    respondWithPage('{"id":"a"},{"id":7}', '"page":1,"totalItems":2,"limit":2')
    const error = await apiErrorOf('invalid-response', createClient().transactions.list({}, { schema }))
    expect(error.issues).toEqual([{ path: ['data', 1, 'id'], message: 'no id: "7", 7' }])
    expect(error.message).toContain('does not match the schema at data[1].id. See error.issues')
  })

  test('may be asynchronous for some items only', async () => {
    service.serveList('/mixed', [1, 2, 3])
    const validate = (value: unknown) => (value === 2 ? Promise.resolve({ value }) : { value })
    const schema = { '~standard': { version: 1, vendor: 'test', validate } } as const
    expect((await createClient().list('/mixed', {}, { schema })).data).toEqual([1, 2, 3])
  })

  test('that finds a hundred issues in deep places gives a message of less than 4 KB', async () => {
    const path = Array.from({ length: 9 }, () => 'k'.repeat(90))
    const issues = Array.from({ length: 100 }, (_, index) => ({ message: 'no', path: [index, ...path] }))
    const schema = { '~standard': { version: 1, vendor: 'test', validate: () => ({ issues }) } } as const
    const error = await apiErrorOf(
      'invalid-response',
      createClient().request('GET', '/transactions', { schema }),
    )
    expect(error.issues).toHaveLength(20)
    expect(error.issues[0]?.path).toEqual([0, ...path])
    expect(error.message).toContain(`at [0].${'k'.repeat(60)}.${'k'.repeat(60)}.`)
    expect(error.message).not.toContain('k'.repeat(61))
    expect(error.message.length).toBeLessThan(4096)
  })

  test('gives a message of one line, whatever its paths contain', async () => {
    const path = ['a-b', 0, 'c d', '\u202e"é', '']
    const issues = [{ message: 'no', path }]
    const schema = { '~standard': { version: 1, vendor: 'test', validate: () => ({ issues }) } } as const
    const error = await apiErrorOf(
      'invalid-response',
      createClient().request('GET', '/transactions', { schema }),
    )
    expect(error.message).toContain('a-b[0]["c d"]["\\u202e\\"é"][""]. ')
  })
})
