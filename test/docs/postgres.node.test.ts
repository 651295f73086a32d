import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { PGlite } from '@electric-sql/pglite'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { environment, fromSource, root } from '../program.ts'
import { Random } from '../simulation/random.ts'
import { snippet } from './snippets.ts'

// The examples for PostgreSQL, in processes of their own, which are killed. exports.md quotes one.

const random = new Random('kills')
const example = (name: string) => readFileSync(join(root, 'examples', name), 'utf8')
const sync = example('sync-postgres.js')
const news = example('new-to-postgres.js')

const db = new PGlite()
const socket = new PGLiteSocketServer({ db, port: 0, maxConnections: 5 })
const transactions = sampleTransactions(2_000)
// PostgreSQL takes these as json, but not as text.
Object.assign(transactions[7]!, { description: 'a NUL \0, half of a pair \ud800' })
const service = new FakeService({ transactions })
let onRequest = () => {}
const server = createServer(async ({ url = '', headers }, response) => {
  onRequest()
  const given = new Headers({ 'api-key': String(headers['api-key']) })
  const { status, body } = await service.handle(new Request(service.baseUrl + url, { headers: given }))
  response.writeHead(status).end(body && (await text(body)))
})

beforeAll(async () => {
  await Promise.all([socket.start(), once(server.listen(0, '127.0.0.1'), 'listening')])
}, 60_000)
beforeEach(() => service.reset())
afterAll(async () => {
  server.close()
  await socket.stop()
  await db.close()
})

/** Runs a program. Kills it soon after this many requests, if it has not ended by then. Returns what it printed, or nothing. */
async function run(code: string, killedAfter = Number.POSITIVE_INFINITY): Promise<string | undefined> {
  const env = environment({
    BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    API_KEY: service.apiKey,
    DATABASE_URL: `postgres://postgres:postgres@${socket.getServerConn()}/postgres`,
  })
  // Within test, where `pg` is installed.
  const args = [...fromSource, '--input-type=module', '--eval', code]
  const child = spawn(process.execPath, args, { cwd: join(root, 'test'), env })
  let requests = 0
  onRequest = () => {
    if (++requests === killedAfter) setTimeout(() => child.kill('SIGKILL'), random.integer(0, 20))
  }
  const [[status, signal], stdout, stderr] = await Promise.all([
    once(child, 'close'),
    text(child.stdout),
    text(child.stderr),
  ])
  if (signal === null && status !== 0) throw new Error(stderr)
  // PostgreSQL rolls back when it sees that the connection is closed. PGlite has one session for all.
  await vi.waitUntil(() => !db.isInTransaction())
  return signal === null ? stdout.trim() : undefined
}

const stored = async (table: string) => {
  const { rows } = await db.query<{ id: string; json: object }>(`SELECT id, json FROM ${table}`)
  return new Map(rows.map(({ id, json }) => [id, json]))
}
const listed = () => new Map<string, object>(service.transactions.map(item => [item.id, item]))

test('exports.md quotes a part of the program as it is', () => {
  expect(sync).toContain(snippet('exports.md', 'To PostgreSQL'))
})

test('the copy is that of a complete run, whenever the program is killed', { timeout: 60_000 }, async () => {
  expect(await run(sync)).toBe('2000 transactions')
  const before = structuredClone(listed())
  expect(await stored('transactions')).toEqual(before)
  const added = sampleTransactions(60, 7)
  let kills = 0
  for (let printed: string | undefined; printed === undefined; ) {
    service.transactions.splice(random.integer(0, 1_900), 3)
    service.transactions.push(...added.splice(0, 10))
    Object.assign(service.transactions[5]!, { description: `changed ${kills}` })
    printed = await run(sync, kills < 6 ? random.integer(1, 8) : undefined)
    if (printed === undefined) {
      kills++
      expect(await stored('transactions')).toEqual(before)
    }
  }
  expect(kills).toBeGreaterThan(2)
  // Items removed before it resumed are deleted by the next run.
  expect([...(await stored('transactions')).keys()]).toEqual(expect.arrayContaining([...listed().keys()]))
  expect(await run(sync)).toBe(`${service.transactions.length} transactions`)
  expect(await stored('transactions')).toEqual(listed())
})

test('a run adds what is new at the beginning, once, or nothing if it is killed', {
  timeout: 60_000,
}, async () => {
  expect(await run(news, 3)).toBeUndefined()
  expect(await run(news)).toBe('2000 new transactions')
  service.transactions.unshift(...sampleTransactions(150, 7))
  expect(await run(news, 1)).toBeUndefined()
  expect((await stored('news')).size).toBe(2_000)
  expect(await run(news)).toBe('150 new transactions')
  expect(await run(news)).toBe('0 new transactions')
  expect(await stored('news')).toEqual(listed())
})

test('a list that comes back empty, or nearly, deletes nothing, and the next run recovers', {
  timeout: 60_000,
}, async () => {
  await run(sync)
  const before = await stored('transactions')
  const all = service.transactions.splice(0)
  await expect(run(sync)).rejects.toThrow(`${before.size} of ${before.size} rows are gone from the list`)
  service.transactions.push(...all.slice(0, 5))
  await expect(run(sync)).rejects.toThrow('rows are gone from the list, but kept.')
  expect(await stored('transactions')).toEqual(before)
  service.transactions.push(...all.slice(5))
  expect(await run(sync)).toBe(`${all.length} transactions`)
  expect(await stored('transactions')).toEqual(listed())
})

test('after most of the list is gone, its advice works, also when items were added at its beginning', {
  timeout: 60_000,
}, async () => {
  await run(sync)
  service.transactions.splice(100)
  await expect(run(sync)).rejects.toThrow('If that is right, run DELETE FROM transactions.')
  service.transactions.unshift(...sampleTransactions(3, 5))
  await expect(run(sync)).rejects.toThrow('If that is right, run DELETE FROM transactions.')
  await db.query('DELETE FROM transactions')
  expect(await run(sync)).toBe('103 transactions')
  expect(await stored('transactions')).toEqual(listed())
})

test('after a kill at its end and items added at the beginning, it starts over', {
  timeout: 60_000,
}, async () => {
  await run(sync)
  const atEnd = '\nif (!end?.isComplete)'
  expect(sync).toContain(atEnd)
  expect(await run(sync.replace(atEnd, `\nprocess.kill(process.pid, 'SIGKILL')${atEnd}`))).toBeUndefined()
  service.transactions.unshift(...sampleTransactions(3, 5))
  await expect(run(sync)).rejects.toThrow('Cannot resume (added-elsewhere). Run it again.')
  expect(await run(sync)).toBe(`${service.transactions.length} transactions`)
  expect(await stored('transactions')).toEqual(listed())
})

test('when everything that its cursor named is gone, a run adds what is new, and no item twice', {
  timeout: 60_000,
}, async () => {
  await run(news)
  const before = await stored('news')
  service.transactions.splice(0, 300)
  service.transactions.unshift(...sampleTransactions(20, 11))
  expect(await run(news)).toBe('20 new transactions')
  expect((await stored('news')).size).toBe(before.size + 20)
})
