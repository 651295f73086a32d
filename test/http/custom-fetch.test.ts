import { isApiError } from 'virtual-accounts'
import { describe, expect, test, vi } from 'vitest'
import { account, apiErrorOf, checkEach, rejectionOf } from '../support.ts'
import { status, stubbed } from './stub.ts'

describe('a custom fetch', () => {
  test('is called with a URL string and a plain init that follows no redirects and caches nothing', async () => {
    const { client, requests } = stubbed([status(200, {}, '{"data":[],"page":1,"totalItems":0,"limit":20}')])
    await client.transactions.list()
    await client.virtualAccounts.deactivate(account).catch(() => {})
    for (const { url, init } of requests) {
      expect(typeof url).toBe('string')
      expect(Object.getPrototypeOf(init)).toBe(Object.prototype)
      expect(Object.getPrototypeOf(init.headers)).toBe(Object.prototype)
      expect(init).toMatchObject({ redirect: 'manual', cache: 'no-store' })
      expect(init.signal).toBeInstanceOf(AbortSignal)
      // Other implementations refuse or misread undefined.
      expect(Object.values(init)).not.toContain(undefined)
    }
    expect(requests.map(({ init }) => init.method)).toEqual(['GET', 'POST'])
    expect(requests[1]?.init.body).toBeUndefined()
  })

  test('may reject with an error that has the name of a ky error: nothing of it is lost', async () => {
    const thrown = Object.assign(new Error('no such host'), { name: 'NetworkError', code: 'ENOTFOUND' })
    const { client } = stubbed([], { fetch: () => Promise.reject(thrown), maxRetries: 0 })
    const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
    expect(error).toMatchObject({ outcomeUnknown: false, cause: { message: 'no such host' } })
  })

  test('may reject or resolve with anything: it is a ConnectionError', async () => {
    for (const thrown of [
      'text',
      undefined,
      null,
      0,
      {},
      Object.create(null),
      Symbol('odd'),
      10n,
      () => {},
    ]) {
      const { client } = stubbed([], { fetch: () => Promise.reject(thrown), maxRetries: 0 })
      await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
    }
    for (const given of [undefined, null, 'text', {}, { ok: true, status: 200 }]) {
      const fetch = vi.fn(async () => given as Response)
      const { client } = stubbed([], { fetch, maxRetries: 0 })
      await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
      expect(fetch).toHaveBeenCalledTimes(1)
    }
  })

  const odd = (response: object) => response as unknown as Response
  const refuse = () => {
    throw new Error('not here')
  }
  test('may resolve with headers that can be read and iterated, and no more', async () => {
    const headers = new Map([['content-length', '2']])
    const response = odd({
      status: 200,
      headers: { get: headers.get, [Symbol.iterator]: () => headers.entries() },
      text: async () => '{}',
    })
    const { client } = stubbed([() => response])
    expect((await client.virtualAccounts.deactivate(account)).data).toEqual({})
  })

  test('may resolve with headers that fail in any way: a write gets an ApiError', async () => {
    const withoutMore = new (class {
      get() {
        return null
      }
    })()
    await checkEach<[what: string, headers: object]>(
      [
        ['cannot be iterated', { get: () => null, [Symbol.iterator]: refuse }],
        ['do not exist', Object.create(null, { [Symbol.iterator]: { get: refuse } })],
        ['have nothing but get', withoutMore],
      ],
      async ([, headers]) => {
        for (const code of [200, 204, 404, 500]) {
          const response = odd({ status: code, type: 'basic', headers, body: null })
          const { client, events } = stubbed([() => response], { maxRetries: 0 })
          const error = await rejectionOf(client.virtualAccounts.deactivate(account))
          if (!isApiError(error)) throw new Error(`no ApiError after a ${code}`, { cause: error })
          expect(error.idempotencyKey).toEqual(expect.any(String))
          if (code < 300) expect(error.outcomeUnknown).toBe(true)
          expect(events.at(-1)).toMatchObject({ type: 'failure', error })
        }
      },
    )
  })

  test('may resolve with a response whose properties throw: a write gets an ApiError', async () => {
    for (const name of ['status', 'type', 'headers', 'body']) {
      const response = { status: 200, type: 'basic', headers: new Headers(), body: null }
      Object.defineProperty(response, name, { get: refuse })
      const { client } = stubbed([() => odd(response)], { maxRetries: 0 })
      const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
      expect(error.outcomeUnknown).toBe(true)
    }
  })

  test('may resolve with a response whose other properties throw: the write succeeds', async () => {
    for (const name of ['url', 'clone', 'json']) {
      const response = { status: 200, type: 'basic', headers: new Headers(), body: null }
      Object.defineProperty(response, name, { get: refuse })
      const { client, requests } = stubbed([() => odd(response)])
      expect(await client.virtualAccounts.deactivate(account)).toMatchObject({ status: 200, attempts: 1 })
      expect(requests).toHaveLength(1)
    }
  })

  describe('without streams', () => {
    /** As React Native and whatwg-fetch: `body` is undefined. */
    const withoutStreams =
      (text: string, code = 200) =>
      () =>
        odd({
          status: code,
          type: 'default',
          headers: new Headers({ 'content-type': 'application/json' }),
          body: undefined,
          text: async () => text,
        })

    test('has its response bodies read by text()', async () => {
      const { client } = stubbed([withoutStreams('\ufeff{"status":"inactive"}')])
      expect((await client.virtualAccounts.deactivate(account)).data).toEqual({ status: 'inactive' })
      const list = stubbed([withoutStreams('{"data":[],"page":1,"totalItems":0,"limit":20}')])
      expect((await list.client.transactions.list()).totalItems).toBe(0)
      const failing = stubbed([withoutStreams('{"code":7}', 422)])
      const error = await apiErrorOf('http', failing.client.virtualAccounts.deactivate(account))
      expect(error.body).toEqual({ code: 7 })
    })

    test('may not exceed maxResponseBytes, nor have a text() that returns no text', async () => {
      for (const [maxResponseBytes, isRead] of [
        [4, true],
        [3, false],
      ] as const) {
        const { client } = stubbed([withoutStreams('"é"')], { maxResponseBytes })
        const call = client.virtualAccounts.deactivate(account)
        if (isRead) expect((await call).data).toBe('é')
        else await apiErrorOf('invalid-response', call)
      }
      const { client } = stubbed([withoutStreams(7 as never)], { maxRetries: 0 })
      await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
    })

    test('has a body of null read as empty', async () => {
      const text = vi.fn()
      const response = { status: 200, type: 'default', headers: new Headers(), body: null, text }
      const { client } = stubbed([() => odd(response)])
      expect((await client.virtualAccounts.deactivate(account)).data).toBeUndefined()
      expect(text).not.toHaveBeenCalled()
    })
  })

  describe('with streams of Node, as those of node-fetch', () => {
    const ofNode = (...chunks: readonly Uint8Array[]) => {
      async function* body() {
        yield* chunks
      }
      const text = async () => new TextDecoder().decode(chunks[0])
      return () => odd({ status: 200, type: 'default', headers: new Headers(), body: body(), text })
    }
    const bytes = (text: string) => Uint8Array.from(text, unit => unit.charCodeAt(0))

    test('has its response bodies read as bytes', async () => {
      const { client } = stubbed([ofNode(bytes('{"status":"in'), bytes('active"}'))])
      expect((await client.virtualAccounts.deactivate(account)).data).toEqual({ status: 'inactive' })
    })

    test('may not exceed maxResponseBytes, nor send bytes that are not UTF-8', async () => {
      const long = stubbed([ofNode(bytes('{"a":'), bytes('1}'))], { maxResponseBytes: 6 })
      const latin1 = stubbed([ofNode(bytes('{"id":"\xe9"}'))])
      for (const { client } of [long, latin1])
        await apiErrorOf('invalid-response', client.virtualAccounts.deactivate(account))
    })
  })

  test('without streams may stall in an error body: it is still an HttpError', async () => {
    const withoutStreams = {
      ok: false,
      status: 422,
      headers: new Headers(),
      body: {},
      text: () => new Promise(() => {}),
    } as unknown as Response
    const { client } = stubbed([() => withoutStreams], { timeout: 800 })
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
    expect(error).toMatchObject({ status: 422, body: undefined, attempts: 1 })
  })
})

test('a chunk that is not a Uint8Array is an error rather than data', () =>
  checkEach<[what: string, chunk: unknown]>(
    [
      ['a string', '{}'],
      ['null', null],
      ['an array', [0x7b, 0x7d]],
      ['an ArrayBuffer', new ArrayBuffer(2)],
      ['a Uint16Array', Uint16Array.of(0x7b, 0x7d)],
    ],
    async ([, chunk]) => {
      const body = () =>
        new Response(
          new ReadableStream({
            start(controller) {
              controller.enqueue(Uint8Array.of(0x20))
              controller.enqueue(chunk)
              controller.close()
            },
          }),
        )
      const { client } = stubbed([body], { maxRetries: 0 })
      const error = await apiErrorOf('connection', client.virtualAccounts.deactivate(account))
      expect(error.outcomeUnknown).toBe(true)
    },
  ))
