import { getEventListeners } from 'node:events'
import { Client } from 'virtual-accounts'
import { describe, expect, test } from 'vitest'
import { account, apiErrorOf, rejectionOf } from '../support.ts'
import { serve, silence, soon } from './fault-server.ts'
import { apiKey, status, stub, stubbed } from './stub.ts'

/** A new abort reason, to be recognised by its identity. */
const because = () => ({ because: 'the caller said so' })

function item(number: number) {
  return { id: `t${number}`, amount: number, currency: 'EUR', description: '' }
}

describe('a signal shared by calls', () => {
  const emptyPage = () => Response.json({ data: [], page: 1, totalItems: 0, limit: 20 })

  test('ends all of them, and closes their connections', async () => {
    await using service = await serve(silence)
    const { server, client } = service
    const controller = new AbortController()
    const { signal } = controller
    const reason = because()
    const calls = [
      client.virtualAccounts.deactivate(account, { signal }),
      client.virtualAccounts.reactivate(account, { signal }),
      client.transactions.list({}, { signal }),
      client.transactions.list({}, { signal }).batches().next(),
    ].map(rejectionOf)
    await server.received(4)
    controller.abort(reason)
    expect(await Promise.all(calls)).toEqual([reason, reason, reason, reason])
    for (const connection of [1, 2, 3, 4]) await server.closed(connection)
  })

  test('has no listener left after 4,000 of them', async () => {
    const { signal } = new AbortController()
    const { fetch, requests } = stub(emptyPage)
    const client = new Client({ baseUrl: 'https://api.example.com', apiKey, fetch })
    for (let call = 0; call < 4_000; call += 20) {
      await Promise.all(
        Array.from({ length: 10 }, async () => {
          await client.virtualAccounts.deactivate(account, { signal })
          await client.transactions.list({}, { signal })
        }),
      )
    }
    expect(requests).toHaveLength(4_000)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('has one listener per call, whatever the number of retries', async () => {
    const { signal } = new AbortController()
    const counts: number[] = []
    const { client } = stubbed([status(503), status(200)], {
      onEvent: () => counts.push(getEventListeners(signal, 'abort').length),
    })
    await client.virtualAccounts.deactivate(account, { signal })
    expect(new Set(counts)).toEqual(new Set([1]))
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('has no listener left after calls that failed, timed out or were never sent', async () => {
    const { signal } = new AbortController()
    for (const step of [
      status(404),
      'lost',
      'hang',
      status(200, { 'content-type': 'text/html' }, 'x'),
    ] as const) {
      const { client } = stubbed([step], { maxRetries: 0, timeout: 20 })
      await rejectionOf(client.virtualAccounts.deactivate(account, { signal }))
    }
    const { client } = stubbed([status(200)], { apiKey: () => Promise.reject(new Error('no key')) })
    await rejectionOf(client.virtualAccounts.deactivate(account, { signal }))
    await rejectionOf(
      client.virtualAccounts.deactivate({ customerId: '..', virtualAccountId: 'v' }, { signal }),
    )
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('has no listener left after iterations that ended, failed or were left early', async () => {
    const { signal } = new AbortController()
    const pageOf = (url: string) => Number(new URL(url).searchParams.get('page'))
    let isFailing = false
    const fetch = async (url: string) =>
      isFailing && pageOf(url) === 3
        ? new Response(null, { status: 404 })
        : Response.json({ data: [item(pageOf(url))], page: pageOf(url), totalItems: 9, limit: 1 })
    const client = new Client({ baseUrl: 'https://api.example.com', apiKey, fetch })
    const list = client.transactions.list({}, { signal })
    const iterate = async () => {
      for await (const _ of list);
    }
    await iterate()
    for await (const _ of list) break
    for await (const _ of list.batches()) break
    isFailing = true
    await apiErrorOf('http', iterate())
    await list
    await soon()
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})

test('a signal that is undefined counts as none', async () => {
  const { client, requests } = stubbed([status(204)])
  expect((await client.virtualAccounts.deactivate(account, { signal: undefined })).attempts).toBe(1)
  expect(requests).toHaveLength(1)
})
