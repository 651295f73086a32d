import { describe, expect, test } from 'vitest'
import { account, apiErrorOf, checkEach } from '../support.ts'
import { status, stubbed } from './stub.ts'

describe('a fetch that reports a truncated response as complete', () => {
  const body = '{"status":"inac'
  const cut =
    (headers: Record<string, string> = {}) =>
    () =>
      new Response(body, { headers: { 'content-type': 'text/plain', 'content-length': '21', ...headers } })

  test('is found out by the Content-Length, and a write is retried with an unknown outcome', async () => {
    const { client, keys } = stubbed([cut(), status(204)])
    const result = await client.virtualAccounts.deactivate(account)
    expect(result.attempts).toBe(2)
    expect(keys()).toEqual(Array(2).fill(result.idempotencyKey))
    const failing = stubbed([cut()], { maxRetries: 0 })
    const error = await apiErrorOf('connection', failing.client.virtualAccounts.deactivate(account))
    expect(error.outcomeUnknown).toBe(true)
  })

  test('is found out for a list, too', async () => {
    const { client, requests } = stubbed([cut()], { maxRetries: 0 })
    await apiErrorOf('connection', Promise.resolve(client.transactions.list()))
    expect(requests).toHaveLength(1)
  })

  test('is not suspected where a status has no body, or the length says nothing', async () => {
    await checkEach([204, 205], async code => {
      const { client } = stubbed([status(code, { 'content-length': '2' })])
      const { attempts, data } = await client.virtualAccounts.deactivate(account)
      expect({ attempts, data }).toEqual({ attempts: 1, data: undefined })
    })
    await checkEach(
      [
        ['a compressed response', { 'content-encoding': 'gzip' }],
        ['a longer response', { 'content-length': '3' }],
        ['an unreadable length', { 'content-length': 'many' }],
        ['a length that is not in decimal digits', { 'content-length': '0x64' }],
      ] as const,
      async ([, headers]) => {
        const { client } = stubbed([cut(headers)], { maxRetries: 0 })
        expect((await client.virtualAccounts.deactivate(account)).data).toBe(body)
      },
    )
  })

  test('is found out for an error, which is then one without a body', async () => {
    const { client } = stubbed([status(404, { 'content-length': '21' }, body)])
    const error = await apiErrorOf('http', client.virtualAccounts.deactivate(account))
    expect(error).toMatchObject({ status: 404, body: undefined, attempts: 1 })
    const whole = stubbed([status(404, { 'content-length': String(body.length) }, body)])
    expect(await apiErrorOf('http', whole.client.virtualAccounts.deactivate(account))).toMatchObject({ body })
  })

  test('is not suspected in a page of another origin, from which a browser hides the encoding', async () => {
    const hidden = () => Object.defineProperty(cut()(), 'type', { value: 'cors' })
    const { client } = stubbed([hidden], { maxRetries: 0 })
    expect((await client.virtualAccounts.deactivate(account)).data).toBe(body)
  })
})
