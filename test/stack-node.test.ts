import { fileURLToPath } from 'node:url'
import { ApiError, type List, type Page, type Transaction } from 'virtual-accounts'
import { expect, test, vi } from 'vitest'
import { account, createClient, rejectionOf, service, startService } from './service.ts'

startService()

const thisFile = fileURLToPath(import.meta.url)

/** The frames of an error's stack, without those of Node itself: its queue is below every `await`. */
function framesOf(error: unknown): string[] {
  if (!(error instanceof ApiError)) throw new Error('expected an ApiError', { cause: error })
  return (error.stack ?? '').split('\n').filter(line => /^\s+at (?!.*node:internal)/.test(line))
}

async function iterate(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

async function awaitIt(call: PromiseLike<unknown>): Promise<void> {
  await call
}

/** Fails on its second page, so that the error is created far from the caller. */
function failingList(): List<Transaction> {
  service.fail({
    path: '/transactions',
    with: () => Response.json({ data: [], page: 1, totalItems: 0, limit: 10 }),
  })
  return createClient().transactions.list({ page: 2, limit: 10 })
}

async function pageWithoutNext(): Promise<Page<Transaction>> {
  const page = await createClient().transactions.list({ limit: 10 })
  service.fail({ with: new Response(null, { status: 404 }) })
  return page
}

const fails = () => service.fail({ times: 3, with: () => new Response(null, { status: 503 }) })

test.each<[string, string, () => Promise<void>]>([
  ['a loop over the items of a list', 'iterate', async () => iterate(failingList())],
  ['a loop over the pages of a list', 'iterate', async () => iterate(failingList().pages())],
  [
    'a loop over the items of a later page',
    'iterate',
    async () => {
      service.fail({ path: '/transactions', with: 'truncate' })
      await iterate(createClient({ maxRetries: 0, fetch: service.fetch }).transactions.list({ limit: 10 }))
    },
  ],
  ['a loop over a page', 'iterate', async () => iterate(await pageWithoutNext())],
  ['an awaited list', 'awaitIt', async () => awaitIt(failingList())],
  ['nextPage', 'awaitIt', async () => awaitIt((await pageWithoutNext()).nextPage() as Promise<unknown>)],
  [
    'a write that is retried',
    'awaitIt',
    async () => {
      fails()
      await awaitIt(createClient().virtualAccounts.deactivate(account))
    },
  ],
  [
    'client.request',
    'awaitIt',
    async () => {
      fails()
      await awaitIt(createClient({ maxRetries: 0 }).request('GET', '/a'))
    },
  ],
])('the stack of an error from %s begins at the line of the caller, %s', async (_what, caller, call) => {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  const frames = framesOf(await rejectionOf(call()))
  expect(frames[0]).toContain(thisFile)
  expect(frames[0]).toContain(caller)
  expect(frames.filter(frame => /\/src\/|\/node_modules\/ky\//.test(frame))).toEqual([])
})
