const { Client, isApiError } = require('virtual-accounts')
const { FakeService, sampleTransactions } = require('virtual-accounts/testing')

const service = new FakeService({ transactions: sampleTransactions(45) })
const client = new Client({ baseUrl: service.baseUrl, apiKey: service.apiKey, fetch: service.fetch })
const account = { customerId: 'c1', virtualAccountId: 'v1' }

beforeEach(() => service.reset())

test('every transaction is listed', async () => {
  const ids = []
  for await (const { id } of client.transactions.list({ limit: 10 }, { verified: false })) ids.push(id)
  expect(ids).toEqual(service.transactions.map(({ id }) => id))
  expect(service.requests).toHaveLength(5)
})

test('an account is deactivated', async () => {
  await client.virtualAccounts.deactivate(account)
  expect(service.isActive(account)).toBe(false)
})

test('a failure is an error that is known', async () => {
  service.fail({ with: new Response(null, { status: 404 }) })
  const error = await client.transactions.list().catch(error => error)
  expect(isApiError(error) && error.kind === 'http' && error.status).toBe(404)
})
