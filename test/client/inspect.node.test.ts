import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { createClient, respondWith, respondWithPage, service, startService } from '../service.ts'
import { rejectionOf } from '../support.ts'

startService()

const everything = { depth: 20, showHidden: true }

test('console.log of a client shows its resources, and never the API key', () => {
  const client = createClient()
  expect(inspect(client)).toMatch(/^Client \{\s+virtualAccounts: /)
  expect(inspect(client, everything)).not.toContain(service.apiKey)
  expect(inspect(createClient({ apiKey: () => service.apiKey }), everything)).not.toContain(service.apiKey)
  expect(JSON.stringify(client)).not.toContain(service.apiKey)
})

test('console.log of a list sends nothing', () => {
  const list = createClient().transactions.list({ page: 2, query: { currency: 'AED' } })
  expect(inspect(list, everything)).not.toContain(service.apiKey)
  expect(service.requests).toEqual([])
})

test('console.log of a page shows its data, and never the API key', async () => {
  const page = await createClient().transactions.list({ limit: 1 })
  expect(inspect(page)).toMatch(/^\{\s+data: \[/)
  expect(inspect(page)).toContain('hasNextPage: true')
  expect(inspect(page, everything)).not.toContain(service.apiKey)
})

test('console.log of an error shows no headers, and no property that is undefined', async () => {
  respondWith(null, { status: 404, headers: { 'X-Request-Id': 'r1' } })
  const error = await rejectionOf(createClient().request('GET', '/nowhere'))
  expect(inspect(error)).not.toMatch(/undefined|headers/i)
  expect(inspect(error)).toContain("path: '/nowhere'")
  expect(error).toMatchObject({ page: undefined, body: undefined, idempotencyKey: undefined })
})

test('console.log of an InvalidResponseError does not show the response body', async () => {
  respondWithPage('{"id":"iban-DE1234"}')
  const error = await rejectionOf(createClient().transactions.list())
  expect(inspect(error, everything)).not.toContain('iban-DE1234')
  expect(inspect(error)).toMatch(
    /^InvalidResponseError: GET \/transactions \(page 1\): the response is not valid: data\[0\]\.amount/,
  )
})
