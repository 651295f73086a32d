import { describe, expect, test } from 'vitest'
import { account, apiErrorOf, checkEach } from '../support.ts'
import { envelope, given, transaction } from './bodies.ts'
import { stubbed } from './stub.ts'

describe('hostile JSON', () => {
  const depth = 100_000
  const nested = '['.repeat(depth) + ']'.repeat(depth)

  test('nested 100,000 levels deep is passed through where it is not specified', async () => {
    const service = given(envelope(transaction(`,"x":${nested}`)))
    const [item] = (await service.list()).data
    expect(item?.id).toBe('t1')
    expect(Array.isArray(item?.x)).toBe(true)
  })

  test('nested 100,000 levels deep around a long number is a value or an InvalidResponseError', async () => {
    const body = envelope(transaction(`,"x":${'['.repeat(depth)}12345678901234567890${']'.repeat(depth)}`))
    const service = given(body)
    for (const call of [service.list, service.write]) {
      const outcome = await call().then(
        () => 'a value',
        (error: { kind?: string }) => error.kind,
      )
      expect(['a value', 'invalid-response']).toContain(outcome)
    }
  })

  test('nested 100,000 levels deep instead of a list is an InvalidResponseError with a short message', async () => {
    const service = given(nested)
    const error = await apiErrorOf('invalid-response', service.list())
    expect(error.message.length).toBeLessThan(500)
    expect(() => JSON.stringify(error)).not.toThrow()
  })

  test('nested 100,000 levels deep in an error response is an HttpError', async () => {
    const { client } = stubbed([() => new Response(nested, { status: 400 })])
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
    expect(error.status).toBe(400)
    expect(() => JSON.stringify(error)).not.toThrow()
  })

  test('with __proto__ and constructor keys changes no prototype', async () => {
    const evil = '"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}}'
    const service = given(envelope(transaction(`,${evil}`), `"page":1,"totalItems":1,"limit":20,${evil}`))

    const page = await service.list()
    const [item] = page.data
    const { data } = await service.write()

    for (const value of [{}, [], page, item, data] as { isAdmin?: boolean }[])
      expect(value.isAdmin).toBeUndefined()
    expect(Object.getPrototypeOf(item)).toBe(Object.prototype)
    expect(JSON.stringify(item)).toContain('"__proto__":{"isAdmin":true}')
  })

  test('with __proto__ keys in an error changes no prototype', async () => {
    const text = '{"__proto__":{"isAdmin":true},"a":[{"__proto__":null}]}'
    const { client } = stubbed([() => new Response(text, { status: 400 })])
    const { body } = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
    expect((body as { isAdmin?: boolean }).isAdmin).toBeUndefined()
    expect(Object.getPrototypeOf(body)).toBe(Object.prototype)
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
  })

  test('with required fields in __proto__ is neither a page nor a transaction', async () => {
    for (const [body, place] of [
      [`{"__proto__":${envelope('')}}`, 'data'],
      [envelope(`{"__proto__":${transaction()}}`), 'data.0.id'],
    ] as const) {
      const { issues } = await apiErrorOf('invalid-response', given(body).list())
      expect(issues.map(({ path }) => path.join('.'))).toContain(place)
    }
  })

  test('with ten million digits in a text is read like any other', async () => {
    const x = '7'.repeat(10_000_000)
    const service = given(envelope(transaction(`,"x":"${x}"`)))
    expect((await service.list()).data[0]?.x).toBe(x)
  })

  test('with a million digits in one number keeps them all, and shows none in messages', async () => {
    const digits = '7'.repeat(1_000_000)
    const service = given(envelope(transaction(`,"x":${digits}`)))
    const [item] = (await service.list()).data
    expect(item?.x === digits).toBe(true)
    expect(((await service.write()).data as { data: { x: string }[] }).data[0]?.x === digits).toBe(true)

    const wrong = given(envelope(transaction(`,"amount":${digits}`)))
    const error = await apiErrorOf('invalid-response', wrong.list())
    expect(error.message).not.toContain('777')
    expect(error.message.length).toBeLessThan(500)
  })

  test('with an absurd exponent keeps it', async () => {
    const numbers = ['1e999999999999999999999', '1e-999999999999999999999', '0.1e99999999999999999999999999']
    await checkEach(numbers, async number => {
      expect((await given(`{"x":${number}}`).write()).data).toEqual({ x: number })
    })
  })
})
