import { describe, expect, test, vi } from 'vitest'
import { createClient, startService } from '../service.ts'
import { checkEach, rejectionOf } from '../support.ts'

startService()

// Not in a browser, whose location cannot be replaced.
describe('a baseUrl that is a path', () => {
  test('is resolved against the page at each call, in whatever scheme it has', async () => {
    const fetch = vi.fn(async (_url: string, _init: RequestInit) => new Response(null, { status: 404 }))
    const client = createClient({ baseUrl: '/api/', fetch })
    for (const href of ['http://shop.example/cart', 'https://shop.example/']) {
      vi.stubGlobal('location', { href })
      await rejectionOf(client.transactions.list())
    }
    vi.unstubAllGlobals()
    expect(fetch.mock.calls.map(([url]) => url)).toEqual([
      'http://shop.example/api/transactions?page=1',
      'https://shop.example/api/transactions?page=1',
    ])
  })

  test('may be the root of the page, also in a client that is derived', async () => {
    const fetch = vi.fn(async (_url: string, _init: RequestInit) => new Response(null, { status: 404 }))
    vi.stubGlobal('location', { href: 'https://shop.example/cart' })
    const client = createClient({ baseUrl: '/', fetch }).withOptions({ timeout: 5_000 })
    await rejectionOf(client.transactions.list())
    vi.unstubAllGlobals()
    expect(fetch.mock.calls[0]?.[0]).toBe('https://shop.example/transactions?page=1')
  })

  test('makes calls reject with a TypeError where there is no page over http', () =>
    checkEach(
      [
        ['no page', undefined],
        ['a page from a file', { href: 'file:///index.html' }],
        ['a page from a blob', { href: 'blob:https://shop.example/1' }],
      ],
      async ([, location]) => {
        vi.stubGlobal('location', location)
        const error = await rejectionOf(createClient({ baseUrl: '/api' }).transactions.list())
        vi.unstubAllGlobals()
        expect(error).toBeInstanceOf(TypeError)
        expect(String(error)).toBe(
          'TypeError: baseUrl: "/api" only works in a web page. Elsewhere, pass an absolute URL (server rendering?)',
        )
      },
    ))
})
