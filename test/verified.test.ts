import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { expect, test } from 'vitest'
import { createClient, rejectionOf, startService } from './service.ts'

startService()

function createVerifiedList(dedupeBy: (item: { id: string }) => unknown) {
  const { fetch } = new FakeService({ transactions: sampleTransactions(60) })
  return createClient({ fetch }).transactions.list({ limit: 20 }, { verified: true, dedupeBy })
}

async function iterate(list: AsyncIterable<unknown>): Promise<void> {
  for await (const _item of list);
}

test.each([
  [undefined, 'undefined, null or NaN'],
  [null, 'undefined, null or NaN'],
  [Number.NaN, 'undefined, null or NaN'],
  [{}, 'an object'],
])(
  'a verified walk throws a TypeError when dedupeBy returns %o, instead of repeating the list',
  async (key, got) => {
    const dedupeBy = () => key
    expect(await rejectionOf(iterate(createVerifiedList(dedupeBy)))).toEqual(
      new TypeError(
        `verified: expected every item to be identified by a string or a number, got ${got} (see \`dedupeBy\`)`,
      ),
    )
  },
)

test('a verified walk throws a PaginationError when two items of one page have the same identity', async () => {
  const error = await rejectionOf(iterate(createVerifiedList(() => 'same')))
  expect(error).toMatchObject({ kind: 'pagination' })
  expect(String(error)).toContain('one page holds two items with the same identity')
})
