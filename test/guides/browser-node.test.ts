import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createService, Guide, run } from './guide.ts'

// The other blocks are run by test/readme.test.ts.

const guide = new Guide('docs/browser.md')
const service = createService()
const account = { customerId: 'c1', virtualAccountId: 'v1' }
const stored = new Map<string, string>()

beforeEach(() => {
  service.reset()
  stored.clear()
  vi.stubGlobal('localStorage', {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => stored.set(name, value),
    removeItem: (name: string) => stored.delete(name),
  })
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
})

const keysSent = () => service.requests.map(({ headers }) => headers.get('Idempotency-Key'))

describe('a write that outlives its page', () => {
  /** The functions of the guide, as a page that was opened again has them. */
  async function openPage() {
    const code = guide.code('async function finish()').replace(/\nawait finish\(\)\nawait .*\n$/, '\n')
    return (await run(service, code, { last: 'return { deactivate, finish }' })) as {
      deactivate: (customerId: string, virtualAccountId: string) => Promise<void>
      finish: () => Promise<void>
    }
  }

  test('is sent again with its key when the page ended before the response', async () => {
    const before = await openPage()
    service.fail({ with: 'hang' })
    void before.deactivate('c1', 'v1')
    await vi.waitFor(() => expect(service.requests).toHaveLength(1))
    const after = await openPage()
    await after.finish()
    const [key, repeated] = keysSent()
    expect(key).toMatch(/^[0-9a-f-]{36}$/)
    expect(repeated).toBe(key)
    expect(service.isActive(account)).toBe(false)
    expect(stored.size).toBe(0)
  })

  test.for([400, 404, 410, 422])('is forgotten when the service refuses it with %i', async status => {
    const { deactivate, finish } = await openPage()
    service.fail({ with: new Response(null, { status }) })
    await expect(deactivate('c1', 'v1')).rejects.toMatchObject({ status })
    expect(stored.size).toBe(0)
    await finish()
    expect(service.requests).toHaveLength(1)
  })

  test.for([
    ['the API key is wrong', 401],
    ['it is not allowed', 403],
    ['a request with its key is in progress', 409],
    ['there are too many requests', 429],
    ['the service fails', 501],
    ['it is redirected', 302],
  ] as const)('is kept when %s', async ([, status]) => {
    const { deactivate, finish } = await openPage()
    // A Retry-After of more than a minute: the client does not retry.
    service.fail({ times: 1, with: new Response(null, { status, headers: { 'Retry-After': '90' } }) })
    await expect(deactivate('c1', 'v1')).rejects.toMatchObject({ status })
    expect(stored.size).toBe(1)
    await finish()
    expect(new Set(keysSent()).size).toBe(1)
    expect(stored.size).toBe(0)
  })
})
