import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { answerWithPage, createClient, failureOf, service } from './service.ts'

const everything = { depth: 20, showHidden: true }

test('a printed client shows its name and its resources, and no key', () => {
  const client = createClient()
  expect(inspect(client)).toMatch(/^Client \{/)
  expect(inspect(client, everything)).not.toContain(service.apiKey)
  expect(inspect(createClient({ apiKey: () => service.apiKey }), everything)).not.toContain(service.apiKey)
  expect(JSON.stringify(client)).not.toContain(service.apiKey)
})

test('a printed ResponseError does not show what came', async () => {
  answerWithPage('{"id":"iban-DE1234"}')
  const error = await failureOf(createClient().transactions.list())
  expect(inspect(error, everything)).not.toContain('iban-DE1234')
  expect(inspect(error)).toMatch(
    /^ResponseError: GET \/transactions: the answer does not fit: data\[0\]\.amount/,
  )
})
