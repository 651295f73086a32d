import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { failPages, filesIn, printed, run, sent, service } from './guide.ts'
import { snippet } from './snippets.ts'

// getting-started.md, iterating-lists.md, iterating-further.md and changing-lists.md.

const pagesRequested = () => service.requests.map(({ query }) => Number(query.page))
const ids = () => service.transactions.map(({ id }) => id)

/** The first page as it is now; then the list changes. */
function changeAfterPage1(limit: number, change: () => void): void {
  service.fail({
    with: () => {
      const data = service.transactions.slice(0, limit)
      change()
      return Response.json({ data, page: 1, totalItems: 250, limit })
    },
  })
}

describe('getting-started.md', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'virtual-accounts-start-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  test('the file .env is for its owner only, and Node reads it', () => {
    const script = snippet('getting-started.md', 'Keep the key secret')
    execFileSync('bash', ['-c', script], { cwd: folder, input: 'test_key\n' })
    const file = join(folder, '.env')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(parseEnv(readFileSync(file, 'utf8'))).toEqual({ BASE_URL: service.baseUrl, API_KEY: 'test_key' })
  })

  test('reads the API key from a file at each attempt', async () => {
    mkdirSync(join(folder, 'run/secrets'), { recursive: true })
    writeFileSync(join(folder, 'run/secrets/api-key'), 'test_key\n')
    const { client } = await run(snippet('getting-started.md', 'Keep the key secret', 2), filesIn(folder))
    await client.transactions.list()
    expect(service.requests.map(({ headers }) => headers.get('Api-Key'))).toEqual(['test_key'])
  })

  test('prints all transactions', async () => {
    await run(snippet('getting-started.md', 'Read a list'))
    expect(printed()).toHaveLength(250)
  })
})

describe('iterating-lists.md', () => {
  test('items, pages and one page', async () => {
    const { first } = await run(snippet('iterating-lists.md', 'Iterating lists'))
    expect(printed()).toEqual([...ids(), '100', '100', '50'])
    expect(first.data).toHaveLength(100)
    expect(sent()).toHaveLength(3 + 3 + 1)
  })

  test('a page and all that follow, without fetching it again', async () => {
    const { page } = await run(snippet('iterating-lists.md', 'Pages'))
    expect(pagesRequested()).toEqual([3, 4, 5])
    expect('pages' in page).toBe(false)
  })

  test('a part of a list takes no request beyond it', async () => {
    await run(snippet('iterating-lists.md', 'A part of a list'))
    expect(pagesRequested()).toEqual([1, 2])
  })

  test('a filter: undefined is left out, an array repeats its name', async () => {
    const fetch = vi.fn(service.fetch)
    vi.stubGlobal('fetch', fetch)
    await run(snippet('iterating-lists.md', 'A part of a list', 2))
    const { search } = new URL(String(fetch.mock.calls[0]?.[0]))
    expect(search).toBe('?page=1&currency=EUR&currency=USD')
  })

  test('progress', async () => {
    await run(snippet('iterating-lists.md', 'Progress'))
    expect(printed()).toEqual(['100 of 250', '200 of 250', '250 of 250'])
  })

  test('resuming at the page that failed', async () => {
    let fails = true
    failPages(400, page => {
      const isFailing = page === 2 && fails
      if (isFailing) fails = false
      return isFailing
    })
    await run(snippet('iterating-lists.md', 'When a page fails'))
    expect(printed()).toEqual(ids())
    expect(pagesRequested().at(0)).toBe(1)
  })
})

describe('iterating-further.md', () => {
  test('Array.fromAsync requests no page beyond maxItems', async () => {
    const { items } = await run(snippet('iterating-further.md', 'Into an array'))
    expect(items).toEqual(service.transactions.slice(0, 150))
    expect(pagesRequested()).toEqual([1, 2])
  })

  test('ReadableStream.from makes a response of all items, one line each', async () => {
    const { response } = await run(snippet('iterating-further.md', 'Into a web stream'))
    const lines = (await response.text()).trimEnd().split('\n')
    expect(lines.map((line: string) => JSON.parse(line))).toEqual(service.transactions)
  })

  test('ReadableStream.from cancels with its reader', async () => {
    const { response } = await run(snippet('iterating-further.md', 'Into a web stream'))
    const reader = response.body.getReader()
    await reader.read()
    await reader.cancel()
    await new Promise(resolve => setImmediate(resolve))
    expect(pagesRequested()).toEqual([1])
  })

  test('Readable.from filters, and take ends the iteration', async () => {
    const { large } = await run(snippet('iterating-further.md', 'Into a Node stream'))
    expect(large).toEqual(service.transactions.filter(({ amount }) => amount >= 10_000).slice(0, 3))
  })
})

describe('changing-lists.md', () => {
  test('a verified loop misses nothing when one item is removed and another added', async () => {
    const original = ids()
    changeAfterPage1(50, () => {
      const [removed] = service.transactions.splice(0, 1)
      if (removed) service.transactions.push({ ...removed, id: 'new' })
    })
    await run(snippet('changing-lists.md', 'Which mode to use'))
    expect(printed()).toEqual([...original, 'new'])
  })

  test('a loop that accepts missed items goes on', async () => {
    const original = ids()
    changeAfterPage1(50, () => void service.transactions.shift())
    await run(snippet('changing-lists.md', 'Accepting missed items'))
    expect(printed()).toEqual([...original.slice(0, 50), ...original.slice(51)])
  })

  test('dedupeBy removes duplicates of another list', async () => {
    service.serveList('/customers', [{ id: 'c1' }, { id: 'c2' }, { id: 'c1' }])
    await run(snippet('changing-lists.md', 'What identifies an item'))
    expect(printed()).toEqual(['c1', 'c2'])
  })

  test('the error that is shown is that of a list that shrank', async () => {
    const { client } = await run(snippet('options.md', 'The same client with other options'))
    const shown = snippet('changing-lists.md', 'Lists that change').trim().replaceAll('\n', ' ')
    const readAll = async () => {
      for await (const _ of client.transactions.list({ limit: 10 })) {
        if (pagesRequested().includes(13)) service.transactions.length = 249
      }
    }
    const [, message] = shown.split('(page 14)') as [string, string]
    const shape = (text: string) => text.replaceAll(/page: \d+/g, 'page: N').replace(/^.*?\(page \d+\)/, '')
    await expect(readAll().catch(error => shape(error.message))).resolves.toBe(shape(message))
  })
})
