import { describe, expect, test } from 'vitest'
import { account, apiErrorOf } from '../support.ts'
import { close, closeAfter, head, json, page, reset, respond, serve, soon } from './fault-server.ts'

describe.concurrent('a keep-alive connection that closes as it is reused', () => {
  test('makes a write take one retry, and then succeed', async () => {
    await using service = await serve([json({ n: 1 }), reset, json({ n: 2 })])
    const { server, client } = service

    await client.virtualAccounts.deactivate(account)
    await soon()
    const result = await client.virtualAccounts.reactivate(account)

    expect(result).toMatchObject({ data: { n: 2 }, attempts: 2 })
    expect(server.requests.map(({ connection }) => connection)).toEqual([1, 1, 2])
    expect(server.idempotencyKeys.slice(1)).toEqual(Array(2).fill(result.idempotencyKey))
  })

  test('makes a write take one retry when it closes in an orderly way, too', async () => {
    await using service = await serve([json({ n: 1 }), close, json({ n: 2 })])
    const { server, client } = service
    await client.virtualAccounts.deactivate(account)
    await soon()
    const result = await client.virtualAccounts.reactivate(account)
    expect(result).toMatchObject({ data: { n: 2 }, attempts: 2 })
    expect(server.idempotencyKeys.slice(1)).toEqual(Array(2).fill(result.idempotencyKey))
  })

  test('lets each write arrive, only ever with its own idempotency key', async () => {
    // Responds and closes at the same moment: the next write finds the socket open, half closed or closed.
    const respondAndClose = closeAfter(head(200, { 'content-length': 2 }), '{}')
    await using service = await serve(respondAndClose)
    const { server, client } = service
    const keys: (string | undefined)[] = []
    for (let call = 0; call < 10; call++) {
      keys.push((await client.virtualAccounts.deactivate(account)).idempotencyKey)
    }
    expect(new Set(keys).size).toBe(10)
    expect([...new Set(server.idempotencyKeys)]).toEqual(keys)
  })
})

describe.concurrent('connections', () => {
  test('are reused: five calls need one', async () => {
    await using service = await serve([page(), json({}), page(), json({}), respond(204)])
    const { server, client } = service
    for (const call of [
      () => client.transactions.list(),
      () => client.virtualAccounts.deactivate(account),
      () => client.transactions.list(),
      () => client.virtualAccounts.reactivate(account),
      () => client.virtualAccounts.deactivate(account),
    ]) {
      await call()
      await soon()
    }
    expect(server.requests).toHaveLength(5)
    expect(server.connections).toBe(1)
  })

  test('are reused after errors and redirects, whose bodies are read', async () => {
    const big = JSON.stringify({ message: 'x'.repeat(200_000) })
    await using service = await serve([
      json(big, 400),
      respond(404, '<html>', { 'content-type': 'text/html' }),
      respond(302, 'moved', { location: '/elsewhere' }),
      json(big, 503),
      json({ n: 5 }),
    ])
    const { server, client } = service
    for (let call = 0; call < 3; call++) {
      await apiErrorOf('http', client.virtualAccounts.deactivate(account))
      await soon()
    }
    expect(await client.virtualAccounts.deactivate(account)).toMatchObject({ data: { n: 5 }, attempts: 2 })
    expect(server.connections).toBe(1)
  })

  test('are reused after invalid responses', async () => {
    await using service = await serve([
      json({ data: 1 }),
      respond(200, '<html>', { 'content-type': 'text/html' }),
      page(),
    ])
    const { server, client } = service
    await apiErrorOf('invalid-response', Promise.resolve(client.transactions.list()))
    await soon()
    await apiErrorOf('invalid-response', client.virtualAccounts.deactivate(account))
    await soon()
    await client.transactions.list()
    expect(server.connections).toBe(1)
  })
})
