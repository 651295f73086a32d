import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { account, apiErrorOf, checkEach, rejectionOf } from '../support.ts'
import { ok, passing, type StubStep, status, stubbed, useFakeTime, write } from './stub.ts'

beforeEach(useFakeTime)
afterEach(() => void vi.useRealTimers())

describe('outcomeUnknown of a write', () => {
  // What `redirect: 'manual'` gives in a browser.
  const opaqueRedirect = () =>
    Object.defineProperties(new Response(), {
      status: { value: 0 },
      type: { value: 'opaqueredirect' },
    })
  const invalid = status(200, { 'content-type': 'text/html' }, '<html>')

  /** Checks whether the outcome of a write is known after these steps. */
  const expectOutcome = (isUnknown: boolean, cases: readonly (readonly [after: string, ...StubStep[]])[]) =>
    checkEach(cases, async ([, ...steps]) => {
      const error = await rejectionOf(write(steps, { timeout: 1000 }).call)
      expect(error).toMatchObject({ outcomeUnknown: isUnknown })
    })

  test('is false after responses that say that nothing was applied', () =>
    expectOutcome(false, [
      ['a 400', status(400)],
      ['a 401', status(401)],
      ['a 404', status(404)],
      ['a 409 alone', status(409)],
      ['a 422', status(422)],
      ['only 429s', status(429)],
      ['only 425s', status(425)],
      ['a 429, then a 400', status(429), status(400)],
      ['a 307', status(307)],
      ['a 308', status(308)],
    ]))

  test('is false where no connection was made', () =>
    expectOutcome(false, [
      ['only refused connections', 'refused'],
      ['a refused certificate', 'certificate'],
      ['a refused connection, then a 400', 'refused', status(400)],
      ['a refused connection, then a refused certificate', 'refused', 'certificate'],
    ]))

  test('is true after a lost connection or a timeout, whatever the next attempt gets', () =>
    expectOutcome(true, [
      ['only lost connections', 'lost'],
      ['a lost connection, then a 400', 'lost', status(400)],
      ['a lost connection, then a 404', 'lost', status(404)],
      ['a lost connection, then a 409', 'lost', status(409)],
      ['a lost connection, then a 429', 'lost', status(429)],
      ['a lost connection, then refused ones', 'lost', 'refused'],
      ['a lost connection, then a refused certificate', 'lost', 'certificate'],
      ['a lost connection, then a redirect', 'lost', status(302)],
      ['refused connections, then a lost one', 'refused', 'refused', 'lost'],
      ['a timeout', 'hang'],
      ['a timeout, then a 400', 'hang', status(400)],
    ]))

  test('is true after responses that do not say whether it was applied', () =>
    expectOutcome(true, [
      ['a 300', status(300)],
      ['a 304', status(304)],
      ['a 500', status(500)],
      ['a 500, then a 422', status(500), status(422)],
      ['a 501', status(501)],
      ['a 503, then a 429, then a 400', status(503), status(429), status(400)],
      ['a 505', status(505)],
      ['a 408', status(408)],
      ['a 408, then a 400', status(408), status(400)],
      ['a 301', status(301)],
      ['a 302', status(302)],
      ['a 303', status(303)],
      ['an opaque redirect', opaqueRedirect],
      ['an invalid response', invalid],
      ['a 429, then an invalid response', status(429), invalid],
    ]))

  test('is true for each write method, and never for GET', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'GET'] as const) {
      for (const step of ['lost', 'hang', status(500), invalid] as const) {
        const { client } = stubbed([step], { timeout: 50, maxRetries: 0 })
        const error = await rejectionOf(passing(client.request(method, '/anything')))
        expect(error).toMatchObject({
          outcomeUnknown: method !== 'GET',
          idempotencyKey: method === 'GET' ? undefined : expect.any(String),
        })
      }
    }
  })

  test('is true when a response body was cut off and the retry got a 404', async () => {
    const cut = () =>
      new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(new TextEncoder().encode('{"sta'))
            controller.error(new TypeError('terminated'))
          },
        }),
      )
    const { call } = write([cut, status(404)])
    expect(await apiErrorOf('http', call)).toMatchObject({ attempts: 2, outcomeUnknown: true })
  })

  test('is false when no attempt got beyond apiKey', async () => {
    const { client, requests } = stubbed([ok], { apiKey: () => new Promise<string>(() => {}), timeout: 1000 })
    const error = await apiErrorOf('timeout', passing(client.virtualAccounts.deactivate(account)))
    expect(error).toMatchObject({ attempts: 3, outcomeUnknown: false })
    expect(requests).toHaveLength(0)
  })
})
