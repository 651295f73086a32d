import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createService, Guide, run } from './guide.ts'

const guide = new Guide('docs/iterating-further.md')
const service = createService()

beforeEach(() => {
  service.reset()
  vi.spyOn(console, 'log').mockReturnValue()
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
})

const printed = () => vi.mocked(console.log).mock.calls.map(([value]) => String(value))
const pagesRequested = () => service.requests.map(({ query }) => Number(query.page))

/** Runs a block, and checks that it prints what its comments say. */
async function runBlock(text: string, last = ''): Promise<unknown> {
  const code = guide.code(text)
  const modules = { 'node:stream': () => import('node:stream') }
  const result = await run(service, code, { modules, last })
  const promised = [...code.matchAll(/console\.log\(.*\) \/\/ (.*)/g)].map(([, output]) => output)
  if (promised.length > 0) expect(printed()).toEqual(promised)
  return result
}

test('Array.fromAsync collects the items, and no page beyond maxItems is requested', async () => {
  const firstItems = await runBlock('Array.fromAsync', 'return firstItems')
  expect(firstItems).toEqual(service.transactions.slice(0, 150))
  expect(pagesRequested()).toEqual([1, 2])
})

describe('ReadableStream.from', () => {
  test('makes a response of all items, one line each', async () => {
    const response = (await runBlock('ReadableStream.from', 'return response')) as Response
    const lines = (await response.text()).trimEnd().split('\n')
    expect(lines.map(line => JSON.parse(line))).toEqual(service.transactions)
  })

  test('fetches nothing before it is read, and cancels with its reader', async () => {
    const response = (await runBlock('ReadableStream.from', 'return response')) as Response
    const reader = response.body!.getReader()
    await reader.read()
    await reader.cancel()
    await new Promise(resolve => setTimeout(resolve, 50))
    expect(pagesRequested()).toEqual([1])
  })
})

test('Readable.from filters, and take ends the iteration', async () => {
  const large = await runBlock('Readable.from', 'return large')
  expect(large).toEqual(service.transactions.filter(({ amount }) => amount >= 10_000).slice(0, 3))
})

test('await using ends the iteration when the scope ends', async () => {
  const cancel = vi.fn()
  const code = guide
    .code('await using')
    .replace(
      'client.transactions.list()[Symbol.asyncIterator]()',
      'watch(client.transactions.list()[Symbol.asyncIterator]())',
    )
  const watch = (generator: AsyncGenerator<unknown, void>) => {
    const close = generator.return.bind(generator)
    generator.return = value => {
      cancel()
      return close(value)
    }
    return generator
  }
  await run(service, code, { givens: { watch } })
  expect(printed()).toEqual(['2'])
  expect(cancel).toHaveBeenCalledOnce()
  expect(pagesRequested()).toEqual([1])
})

test('a generator is lazy, and passes break on to the list', async () => {
  await runBlock('async function* filter')
  const [first] = service.transactions.filter(({ amount }) => amount >= 10_000)
  expect(printed()).toEqual([first?.id])
  expect(pagesRequested()).toEqual([1])
})

test('async iterators have no helpers in this version of Node, as the guide says', () => {
  expect('AsyncIterator' in globalThis).toBe(false)
})

test('every block is run', () => {
  expect(guide.untaken).toEqual([])
})
