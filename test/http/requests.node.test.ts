import { describe, expect, test } from 'vitest'
import { account } from '../support.ts'
import { json, reset, respond, serve } from './fault-server.ts'
import { apiKey } from './stub.ts'

const _uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('a request on the wire', () => {
  test.concurrent('without a body has its three headers and a Content-Length of 0', async () => {
    await using service = await serve(json({}))
    const { server, client } = service

    const { idempotencyKey } = await client.virtualAccounts.deactivate(account)

    expect(server.requests).toHaveLength(1)
    expect(server.requests[0]).toMatchObject({
      method: 'POST',
      path: '/customers/c1/virtual_accounts/v1/deactivate',
      headers: {
        accept: 'application/json',
        'api-key': apiKey,
        'content-type': 'application/json',
        'content-length': '0',
        'idempotency-key': idempotencyKey,
      },
      body: '',
    })
  })

  test.concurrent('carries its JSON body on every attempt', async () => {
    await using service = await serve([reset, respond(503), json({})])
    const { server, client } = service
    const body = { reason: 'späte Zahlung 💶', nested: [1, null, true] }

    await client.virtualAccounts.deactivate(account, { body })

    const received = server.requests.map(({ body }) => JSON.parse(Buffer.from(body, 'latin1').toString()))
    expect(received).toEqual([body, body, body])
  })
})
