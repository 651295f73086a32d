import { Client, isApiError } from 'virtual-accounts'
import { sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, test } from 'vitest'
import { account } from '../support.ts'
import { run, serveFake, startUntil } from './programs.ts'

describe('proxy', () => {
  async function start() {
    const { service, env } = await serveFake({ transactions: sampleTransactions(250) })
    const match = await startUntil(/on (http:\S+)$/m, 'proxy.js', { ...env, PORT: '0' })
    const baseUrl = match[1] as string
    return { service, baseUrl, client: new Client({ baseUrl, apiKey: null }) }
  }

  test('lets a client without a key iterate the list', async () => {
    const { service, client } = await start()
    const ids = []
    for await (const { id } of client.transactions.list({ limit: 100 })) ids.push(id)
    expect(ids).toEqual(service.transactions.map(({ id }) => id))
  })

  test('forwards the idempotency key, so that a write whose response is lost is applied once', async () => {
    const { service, client } = await start()
    service.fail({ method: 'POST', with: 'network-error' })
    const { attempts, idempotencyKey } = await client.virtualAccounts.deactivate(account)
    expect(attempts).toBe(2)
    expect(service.isActive(account)).toBe(false)
    expect(service.requests.map(({ headers }) => headers.get('Idempotency-Key'))).toEqual([
      idempotencyKey,
      idempotencyKey,
    ])
  })

  test('forwards only listed headers, in both directions', async () => {
    const { service, baseUrl } = await start()
    service.fail({
      with: () =>
        Response.json({ ok: true }, { status: 202, headers: { 'Set-Cookie': 'a=b', 'Retry-After': '1' } }),
    })
    const response = await fetch(`${baseUrl}/customers/c1/virtual_accounts/v1/deactivate`, {
      method: 'POST',
      headers: {
        Cookie: 'session=1',
        Authorization: 'Bearer 1',
        'Api-Key': 'theirs',
        'Content-Type': 'application/json',
      },
      body: '{}',
    })
    expect(await response.json()).toEqual({ ok: true })
    expect(response.status).toBe(202)
    expect(response.headers.get('Set-Cookie')).toBeNull()
    expect(response.headers.get('Retry-After')).toBe('1')
    const [received] = service.requests
    expect(received?.headers.get('Cookie')).toBeNull()
    expect(received?.headers.get('Authorization')).toBeNull()
    expect(received?.headers.get('Api-Key')).toBe(service.apiKey)
    expect(received?.body).toEqual({})
  })

  test('does not start with an API_KEY but no BASE_URL: the key would go to a fake service', async () => {
    const { code, stdout, stderr } = await run('proxy.js', { env: { API_KEY: 'k', PORT: '0' } })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^BASE_URL: .*\n$/)
  })

  test('rejects every request that is not on its list', async () => {
    const { service, baseUrl } = await start()
    for (const [method, path] of [
      ['GET', '/customers'],
      ['DELETE', '/customers/c1/virtual_accounts/v1/deactivate'],
      ['POST', '/customers/c1/virtual_accounts/v1/close'],
      ['POST', '/customers/..%2Fadmin/virtual_accounts/v1/deactivate'],
      ['GET', '/transactions?page=1&admin=true'],
    ] as const) {
      const { status } = await fetch(baseUrl + path, { method })
      expect(status, `${method} ${path}`).toBe(404)
    }
    const { status } = await fetch(`${baseUrl}/transactions`, { headers: { 'Sec-Fetch-Site': 'cross-site' } })
    expect(status, 'a page of another site').toBe(403)
    expect(service.requests).toHaveLength(0)
  })

  test('responds with 502 to a lost response, so that the outcome is unknown', async () => {
    const { service, client } = await start()
    service.fail({ method: 'POST', with: 'network-error' })
    const error = await client.virtualAccounts.deactivate(account, { maxRetries: 0 }).catch(error => error)
    expect(isApiError(error) && error.kind === 'http' && error.status).toBe(502)
    expect(error).toMatchObject({ outcomeUnknown: true })
  })
})
