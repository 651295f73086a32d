import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync as appendToFile, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { beforeEach, expect, test, vi } from 'vitest'
import { startFakeServer } from '../fake-server.js'
import { folder, run, service } from './guide.ts'
import { readPage, root, snippet } from './snippets.ts'

// The batch of writes.md: in this process, and once as a user runs it.

// Before the guides' tests replace it.
const { setTimeout } = globalThis

const code = snippet('writes.md', 'A batch of writes')
const allDone = '200 accounts: { deactivated: 200, refused: 0, unknown: 0, waiting: 0 }'

const accounts = Array.from({ length: 200 }, (_, index) => ({
  customerId: `c${index % 7}`,
  virtualAccountId: `v${index}`,
}))
const [first, second] = accounts as [(typeof accounts)[0], (typeof accounts)[0]]
const path = ({ customerId, virtualAccountId }: typeof first) =>
  `/customers/${customerId}/virtual_accounts/${virtualAccountId}/deactivate`

beforeEach(() => writeFileSync(join(folder, 'accounts.json'), JSON.stringify(accounts)))

/** What Ctrl-C does to the program. */
let shutDown = () => {}

function batchProcess() {
  const env = { BASE_URL: service.baseUrl, API_KEY: service.apiKey }
  const once = (_signal: string, stop: () => void) => {
    shutDown = stop
  }
  return { env, exitCode: 0, once }
}

/** The lines of the file that records every account. */
function rowsOf(): (typeof first & { state: string; reason?: string })[] {
  const lines = readFileSync(join(folder, 'closures-2026-11.jsonl'), 'utf8').split('\n')
  return lines.filter(Boolean).map(line => JSON.parse(line))
}

/** The line of counts that the program ends with. */
function counted(counts: object): string {
  return `200 accounts: ${inspect({ deactivated: 0, refused: 0, unknown: 0, waiting: 0, ...counts })}`
}

/** Runs the program to its end: its last line and its exit code. */
async function runBatch() {
  const process = batchProcess()
  await run(code, {}, { process })
  const [text, counts] = vi.mocked(console.log).mock.calls.at(-1) ?? []
  return { line: `${text} ${inspect(counts)}`, exitCode: process.exitCode }
}

/** Accounts that were sent with more than one key. */
function accountsWithSeveralKeys(requests = service.requests): string[] {
  const keys = new Map<string, Set<string | null>>()
  for (const { path, headers } of requests)
    keys.set(path, (keys.get(path) ?? new Set()).add(headers.get('Idempotency-Key')))
  return [...keys].filter(([, { size }]) => size > 1).map(([path]) => path)
}

test('deactivates each account once, and says so', async () => {
  for (let i = 0; i < 2; i++) expect(await runBatch()).toEqual({ line: allDone, exitCode: 0 })
  expect(service.requests).toHaveLength(200)
  expect(accounts.some(account => service.isActive(account))).toBe(false)
})

test('reports a refusal and an unknown outcome, as the guide shows, and finishes both with their keys', async () => {
  service.fail({ path: path(first), with: () => new Response(null, { status: 422 }) })
  service.fail({ path: path(second), times: 3, with: 'truncate' })
  const { line, exitCode } = await runBatch()
  expect(exitCode).toBe(1)
  expect(readPage('writes.md')).toContain(`\`\`\`text\n${line}\n\`\`\``)
  const failed = rowsOf().filter(({ reason }) => reason)
  expect(failed).toMatchObject([
    { state: 'refused', ...first, reason: expect.stringContaining('HTTP 422') },
    { state: 'unknown', ...second, reason: expect.stringContaining('may have been applied') },
  ])
  expect(await runBatch()).toEqual({ line: allDone, exitCode: 0 })
  expect(accountsWithSeveralKeys()).toEqual([])
})

test('marks an account when its request leaves, not before', async () => {
  service.fail({ times: Number.POSITIVE_INFINITY, with: 'hang' })
  const ending = runBatch()
  await vi.waitFor(() => expect(service.requests.length).toBeGreaterThan(0), 5_000)
  const sent = new Set(service.requests.map(({ path }) => path))
  expect(new Set(rowsOf().map(path))).toEqual(sent)
  shutDown()
  await ending
})

test('no refusal that a gateway may send settles an unknown outcome', async () => {
  service.fail({ path: path(first), times: 3, with: 'truncate' })
  await runBatch()
  for (const status of [401, 403, 404, 405, 409, 413, 421, 425, 429, 431]) {
    // The client does not retry, as the delay is longer than its patience.
    const headers = { 'Retry-After': '90' }
    service.fail({ path: path(first), with: () => new Response(null, { status, headers }) })
    expect(await runBatch()).toMatchObject({ line: counted({ deactivated: 199, unknown: 1 }), exitCode: 1 })
    expect(rowsOf().at(-1)?.reason).toContain(`HTTP ${status}`)
  }
  expect(await runBatch()).toEqual({ line: allDone, exitCode: 0 })
  expect(accountsWithSeveralKeys()).toEqual([])
})

test('a later refusal of the service settles an unknown outcome', async () => {
  for (const status of [400, 422]) {
    service.reset()
    rmSync(join(folder, 'closures-2026-11.jsonl'), { force: true })
    service.fail({ path: path(first), times: 3, with: 'truncate' })
    await runBatch()
    service.fail({ path: path(first), with: () => new Response(null, { status }) })
    expect((await runBatch()).line).toBe(counted({ deactivated: 199, refused: 1 }))
  }
})

test('stops at a wrong API key, and refuses a row without ids, with the reason', async () => {
  service.fail({ times: Number.POSITIVE_INFINITY, with: () => new Response(null, { status: 401 }) })
  expect((await runBatch()).line).toBe(counted({ waiting: 200 }))
  expect(vi.mocked(console.log).mock.calls.at(-2)?.join(' ')).toContain('HTTP 401')
  expect(service.requests.length).toBeLessThan(200)
  service.reset()
  writeFileSync(join(folder, 'accounts.json'), JSON.stringify([...accounts.slice(1), { customer_id: 'c1' }]))
  expect((await runBatch()).line).toBe(counted({ deactivated: 199, refused: 1 }))
  expect(rowsOf().find(({ reason }) => reason?.includes('customerId: expected an id'))).toBeDefined()
})

test('an account that is listed twice is one write', async () => {
  writeFileSync(join(folder, 'accounts.json'), JSON.stringify([...accounts, first, { ...second, note: '' }]))
  expect(await runBatch()).toEqual({ line: allDone, exitCode: 0 })
  expect(service.requests).toHaveLength(200)
})

test('sends nothing that it cannot save, and the next run finishes all', async () => {
  let lines = 0
  const appendFileSync = (_name: string, text: string) => {
    if (++lines > 120) throw new Error('ENOSPC: no space left on device')
    appendToFile(join(folder, 'closures-2026-11.jsonl'), text)
  }
  const process = batchProcess()
  await expect(run(code, { 'node:fs': () => ({ appendFileSync }) }, { process })).rejects.toThrow('ENOSPC')
  expect(rowsOf()).toHaveLength(120)
  const sent = new Set(service.requests.map(({ path }) => path))
  expect(new Set(rowsOf().map(path))).toEqual(sent)
  expect(await runBatch()).toEqual({ line: allDone, exitCode: 0 })
})

test('a shutdown puts unsent accounts back, says which are unknown, and the next run finishes all', async () => {
  service.fail({ times: Number.POSITIVE_INFINITY, with: 'hang' })
  const ending = runBatch()
  await vi.waitFor(() => expect(service.requests.length).toBeGreaterThan(0), 5_000)
  shutDown()
  const { line, exitCode } = await ending
  const unknown = new Set(service.requests.map(({ path }) => path)).size
  expect({ line, exitCode }).toEqual({ line: counted({ unknown, waiting: 200 - unknown }), exitCode: 1 })
  service.reset()
  expect(await runBatch()).toEqual({ line: allDone, exitCode: 0 })
})

test('accounts whose request could not be sent wait for the next run', async () => {
  const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('fetch failed', { cause: refused })))
  expect((await runBatch()).line).toBe(counted({ waiting: 200 }))
  vi.stubGlobal('fetch', service.fetch)
  expect(await runBatch()).toEqual({ line: allDone, exitCode: 0 })
})

test('deactivates all of them where the service limits the rate', async () => {
  vi.stubGlobal('setTimeout', setTimeout)
  service.limit({ perSecond: 100 })
  expect(await runBatch()).toEqual({ line: allDone, exitCode: 0 })
  expect(accounts.some(account => service.isActive(account))).toBe(false)
  expect(accountsWithSeveralKeys()).toEqual([])
})

test('sends the same keys after it was killed, and none to accounts that are done', async () => {
  const fake = await startFakeServer({ latency: 5 })
  fake.service.limit({ perSecond: 60 })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'deactivate.js'), code)
  const env = { ...process.env, BASE_URL: fake.url, API_KEY: fake.service.apiKey, NO_COLOR: '1' }
  const start = (): ChildProcess => {
    const args = ['--import', join(root, 'tools/from-source.js'), 'deactivate.js']
    return spawn(process.execPath, args, { cwd: folder, env })
  }
  const killed = start()
  await vi.waitFor(() => expect(fake.service.requests.length).toBeGreaterThan(60), { timeout: 20_000 })
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  const before = fake.service.requests.length
  const done = rowsOf().filter(({ state }) => state === 'deactivated')
  // A line that the kill cut off, within the reason that the service gave.
  const { customerId, virtualAccountId } = done[0]!
  const cut = JSON.stringify({ customerId, virtualAccountId, reason: '{"state":"refused"}' }).slice(0, -2)
  appendToFile(join(folder, 'closures-2026-11.jsonl'), `\n${cut}`)
  const again = start()
  const lines = await again.stdout?.toArray()
  await fake.close()
  expect(String(lines)).toBe(`${allDone}\n`)
  expect(accountsWithSeveralKeys(fake.service.requests)).toEqual([])
  const sentAgain = new Set(fake.service.requests.slice(before).map(({ path }) => path))
  expect(done.filter(account => sentAgain.has(path(account)))).toEqual([])
})
