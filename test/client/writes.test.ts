import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createClient, service, startService } from '../service.ts'
import { account, checkEach, rejectionOf } from '../support.ts'

startService()

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const keysSent = () => service.requests.map(({ headers }) => headers.get('Idempotency-Key'))

describe('a write', () => {
  test.each(['deactivate', 'reactivate'] as const)('%s sends its three headers and no body', async change => {
    const result = await createClient().virtualAccounts[change](account)

    const [request] = service.requests
    expect(request).toMatchObject({ method: 'POST', path: `/customers/c1/virtual_accounts/v1/${change}` })
    expect(request?.headers.get('Api-Key')).toBe(service.apiKey)
    expect(request?.headers.get('Content-Type')).toBe('application/json')
    expect(request?.headers.get('Idempotency-Key')).toBe(result.idempotencyKey)
    expect(request?.query).toEqual({})
    expect(request?.body).toBeUndefined()
    expect(result).toMatchObject({ status: 200, data: undefined, attempts: 1 })
  })

  test('is applied by the service', async () => {
    const client = createClient()
    await client.virtualAccounts.deactivate(account)
    expect(service.isActive(account)).toBe(false)
    await client.virtualAccounts.reactivate(account)
    expect(service.isActive(account)).toBe(true)
  })

  test('sends its body as JSON', async () => {
    const body = { reason: 'ünter Prüfung', amounts: [1.5, null], when: new Date(0) }
    await createClient().virtualAccounts.deactivate(account, { body })
    expect(service.requests[0]?.body).toEqual({ ...body, when: '1970-01-01T00:00:00.000Z' })
  })

  test('accepts a body that only looks like a stream', async () => {
    const body = { pipe: 'steel', size: 3, names: ['a'], odd: undefined }
    await createClient().virtualAccounts.deactivate(account, { body })
    expect(service.requests[0]?.body).toEqual({ pipe: 'steel', size: 3, names: ['a'] })
  })

  test('refuses a body that JSON cannot represent, and says where it is', async () => {
    class Getters {
      get amount() {
        return 1
      }
    }
    const circle: { self?: unknown } = {}
    circle.self = circle
    const toJSON = () => {
      throw new Error('no')
    }
    await checkEach<[what: string, body: unknown, named: string]>(
      [
        ['a stream of Node', { pipe() {} }, 'function at "pipe"'],
        ['an async iterable', { async *[Symbol.asyncIterator]() {} }, 'object'],
        ['a ReadableStream', new ReadableStream(), 'ReadableStream'],
        ['a form', new FormData(), 'FormData'],
        ['bytes', new Uint8Array(2), 'Uint8Array'],
        ['bytes with a toJSON', Object.assign(new Uint8Array(2), { toJSON: () => ({}) }), 'Uint8Array'],
        ['a function', () => 1, 'function'],
        ['a Map', { a: new Map() }, 'Map at "a"'],
        ['a Number object', [new Number(3)], 'Number at "0"'],
        ['a symbol', [Symbol('a')], 'symbol at "0"'],
        ['an invalid date', { when: new Date(Number.NaN) }, 'Date at "when"'],
        ['undefined in an array', [1, undefined], 'undefined at "1"'],
        ['a hole in an array', new Array(2), 'undefined at "0"'],
        ['nothing from toJSON', { toJSON() {} }, 'an object'],
        ['NaN', { amount: Number.NaN }, 'NaN at "amount"'],
        ['a bigint', { amount: 1n }, 'bigint at "amount"'],
        ['a record with getters only', [new Getters()], 'class instance at "0"'],
        ['a circle', circle, 'circular'],
        ['a toJSON that throws', { toJSON }, 'see error.cause'],
      ],
      async ([, body, named]) => {
        const error = await rejectionOf(createClient().virtualAccounts.deactivate(account, { body }))
        expect(error).toBeInstanceOf(TypeError)
        expect(String(error)).toMatch(/^TypeError: body: /)
        expect(String(error)).toContain(named)
      },
    )
    const error = await rejectionOf(createClient().virtualAccounts.deactivate(account, { body: { toJSON } }))
    expect(error).toHaveProperty('cause.message', 'no')
    expect(service.requests).toEqual([])
  })
})

describe('an idempotency key', () => {
  test('is a fresh UUID v4 for each write', async () => {
    const client = createClient()
    const first = await client.virtualAccounts.deactivate(account)
    const second = await client.virtualAccounts.deactivate(account)
    expect(first.idempotencyKey).toMatch(uuid)
    expect(second.idempotencyKey).toMatch(uuid)
    expect(first.idempotencyKey).not.toBe(second.idempotencyKey)
  })

  test('needs no crypto.randomUUID, which pages served over http lack', async () => {
    vi.stubGlobal('crypto', { getRandomValues: crypto.getRandomValues.bind(crypto) })
    onTestFinished(() => void vi.unstubAllGlobals())
    const { idempotencyKey } = await createClient().virtualAccounts.deactivate(account)
    expect(idempotencyKey).toMatch(uuid)
  })

  test('is the same on every attempt, on the result and on the error', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const unavailable = () => new Response(null, { status: 503 })
    service.fail({ with: unavailable })
    const result = await createClient().virtualAccounts.deactivate(account)
    service.fail({ times: 2, with: unavailable })
    const error = await rejectionOf(createClient({ maxRetries: 1 }).virtualAccounts.deactivate(account))
    expect(result.attempts).toBe(2)
    expect(error).toMatchObject({ attempts: 2, idempotencyKey: expect.stringMatching(uuid) })
    const { idempotencyKey } = error as { idempotencyKey: string }
    expect(keysSent()).toEqual([result.idempotencyKey, result.idempotencyKey, idempotencyKey, idempotencyKey])
  })

  test('may be your own, so that a write that failed is repeated safely', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    service.fail({ with: () => new Response(null, { status: 503 }) })
    const result = await createClient().virtualAccounts.deactivate(account, { idempotencyKey: 'job-17' })
    expect(keysSent()).toEqual(['job-17', 'job-17'])
    expect(result).toMatchObject({ idempotencyKey: 'job-17', attempts: 2 })
  })

  test('of your own has 1 to 255 printable ASCII characters, without a space at either end', async () => {
    const { deactivate } = createClient().virtualAccounts
    const write = (idempotencyKey: unknown) =>
      deactivate(account, { idempotencyKey: idempotencyKey as string })
    await checkEach(
      ['', 'a'.repeat(256), 'ключ', 'a\nb', ' a', 'a ', null, 7, 'pay-$' + '{id}'],
      async key => {
        await expect(write(key)).rejects.toThrow(TypeError)
        await expect(write(key)).rejects.toThrow(/^idempotencyKey: /)
      },
    )
    expect(service.requests).toEqual([])
    await checkEach(['a', 'a b~', 'a'.repeat(255)], async key => {
      expect((await write(key)).idempotencyKey).toBe(key)
    })
  })

  test('is never ignored: passed with the account, it is refused', async () => {
    const record = { ...account, idempotencyKey: 'job-17' }
    const { deactivate } = createClient().virtualAccounts
    await expect(deactivate(record)).rejects.toThrow(/^idempotencyKey: .*second argument/)
    expect(service.requests).toEqual([])
    await deactivate(record, { idempotencyKey: record.idempotencyKey })
    expect(keysSent()).toEqual(['job-17'])
  })
})

describe('an id', () => {
  test('stays one segment of the path, encoded once', async () => {
    await createClient().virtualAccounts.deactivate({ customerId: 'a/b?c#d', virtualAccountId: '50% ü..' })
    expect(service.requests[0]?.path).toBe(
      '/customers/a%2Fb%3Fc%23d/virtual_accounts/50%25%20%C3%BC../deactivate',
    )
    expect(service.isActive({ customerId: 'a/b?c#d', virtualAccountId: '50% ü..' })).toBe(false)
  })

  test('that would lead elsewhere, or is missing, is refused by its name before anything is sent', async () => {
    const { deactivate, reactivate } = createClient().virtualAccounts
    await checkEach(['.', '..', '', null, undefined, 7, '\ud800', ' c1', 'null'], async id => {
      for (const name of ['customerId', 'virtualAccountId']) {
        const error = await rejectionOf(deactivate({ ...account, [name]: id as string }))
        expect(error).toBeInstanceOf(TypeError)
        expect(String(error)).toMatch(new RegExp(`^TypeError: ${name}: `))
      }
    })
    for (const given of [undefined, null]) {
      await expect(reactivate(given as never)).rejects.toThrow(
        /^account: expected \{ customerId, virtualAccountId \}/,
      )
    }
    expect(service.requests).toEqual([])
  })

  test('may come with other properties of its account, as people pass whole records', async () => {
    await createClient().virtualAccounts.deactivate({ ...account, iban: 'x', id: 7 } as typeof account)
    expect(service.requests[0]?.path).toBe('/customers/c1/virtual_accounts/v1/deactivate')
  })
})
