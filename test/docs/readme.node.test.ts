import { expect, test } from 'vitest'
import { account, errors, keys, printed, run, sent, service } from './guide.ts'
import { snippet } from './snippets.ts'

// Nothing here needs the packages of this folder, so `npm test` runs it, too.

test('the first block prints every transaction, here and on the first page of the site', async () => {
  await run(snippet('README.md', 'virtual-accounts', 2))
  expect(printed()).toHaveLength(250)
  expect(printed()[0]).toBe('10246215274470382904834 4841890 JPY')
  await run(snippet('site/index.md', 'Read every page in one loop', 2))
  expect(printed().slice(250)).toEqual(printed().slice(0, 250))
})

test('lists: a page, and the one after it', async () => {
  await run(snippet('README.md', 'Lists'))
  expect(sent()).toEqual(['GET /transactions?page=2&limit=50', 'GET /transactions?page=3&limit=50'])
})

test('lists: pages that overlap', async () => {
  await run(snippet('README.md', 'Lists', 2))
  expect(printed()).toHaveLength(250)
  expect(sent()).toEqual([
    'GET /transactions?page=1&limit=100',
    'GET /transactions?page=2&limit=99',
    'GET /transactions?page=3&limit=98',
  ])
})

test('writes: an account is deactivated', async () => {
  await run(snippet('README.md', 'Writes'))
  expect(service.isActive(account)).toBe(false)
  expect(sent()).toEqual(['POST /customers/c1/virtual_accounts/v1/deactivate'])
})

test('writes: the key of a lost response is sent again', async () => {
  service.fail({ times: 3, with: 'truncate' })
  await run(snippet('README.md', 'Writes', 2))
  expect(keys()).toHaveLength(4)
  expect(new Set(keys()).size).toBe(1)
})

test('when it fails: the message is the one shown', async () => {
  const body = { error: { message: 'wrong key' } }
  service.fail({ with: Response.json(body, { status: 401 }) })
  await run(snippet('README.md', 'When it fails'))
  const shown = snippet('README.md', 'When it fails', 2).trim().replace('\n', ' ')
  expect(errors()).toEqual([shown, '401 [object Object]'])
})

test('other endpoints: the items of another list', async () => {
  service.serveList('/refunds', [{ id: 'r1' }, { id: 'r2' }])
  await run(snippet('README.md', 'Other endpoints'))
  expect(printed()).toEqual(['r1', 'r2'])
})

test('test your code: two retries', async () => {
  await run(snippet('README.md', 'Test your code'))
  expect(printed()).toEqual(['3', 'false'])
})
