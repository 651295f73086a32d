import { describe, expect, test } from 'vitest'
import { account, apiErrorOf, checkInParallel } from '../support.ts'
import { FaultServer, json, respond, serve } from './fault-server.ts'

describe.concurrent('a redirect', () => {
  const statuses = [301, 302, 303, 307, 308]
  // A 304 never has a body.
  const bodyOf = (status: number) => (status === 304 ? undefined : 'moved')

  test('to another origin is not followed, so the API key does not go there', () =>
    checkInParallel([...statuses, 300, 304, 305], async status => {
      await using elsewhere = await FaultServer.start(json({}))
      const location = `${elsewhere.url}/stolen`
      await using service = await serve(respond(status, bodyOf(status), { location }))
      const { server, client } = service
      for (const call of [client.virtualAccounts.deactivate(account), client.transactions.list()]) {
        const error = await apiErrorOf('http', call)
        expect(error).toMatchObject({ status, attempts: 1, body: bodyOf(status) })
        expect(error.headers.get('location')).toBe(location)
      }
      expect(server.requests).toHaveLength(2)
      expect(elsewhere.connections).toBe(0)
    }))

  test('to itself does not loop', () =>
    checkInParallel(statuses, async status => {
      await using service = await serve(respond(status, '', { location: '/transactions?page=1' }))
      const { server, client } = service
      expect((await apiErrorOf('http', client.transactions.list())).status).toBe(status)
      expect(server.requests).toHaveLength(1)
    }))

  test('without a Location is an HttpError, too', async () => {
    await using service = await serve(respond(302))
    const error = await apiErrorOf('http', service.client.virtualAccounts.deactivate(account))
    expect(error.status).toBe(302)
  })

  test('is not followed by a custom fetch either', async () => {
    await using elsewhere = await FaultServer.start(json({}))
    await using service = await serve(respond(302, '', { location: elsewhere.url }), {
      fetch: (url, init) => fetch(url, { ...init }),
    })
    await apiErrorOf('http', service.client.virtualAccounts.deactivate(account))
    expect(elsewhere.connections).toBe(0)
  })
})
