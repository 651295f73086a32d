import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
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
const allDone = "200 accounts: { deactivated: 200, 'not applied': 0, unknown: 0 }"

const accounts = Array.from({ length: 200 }, (_, index) => ({
  customerId: `c${index % 7}`,
  virtualAccountId: `v${index}`,
}))
const [first, second] = accounts as [(typeof accounts)[0], (typeof accounts)[0]]
const path = ({ customerId, virtualAccountId }: typeof first) =>
  `/customers/${customerId}/virtual_accounts/${virtualAccountId}/deactivate`

beforeEach(() => writeFileSync(join(folder, 'accounts.json'), JSON.stringify(accounts)))

/** Runs the program to its end: its last line and its exit code. */
async function runBatch() {
  const process = { env: { BASE_URL: service.baseUrl, API_KEY: service.apiKey }, exitCode: 0 }
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
  service.fail({ path: path(first), with: () => new Response(null, { status: 404 }) })
  service.fail({ path: path(second), times: 3, with: 'truncate' })
  const { line, exitCode } = await runBatch()
  expect(exitCode).toBe(1)
  expect(readPage('writes.md')).toContain(`\`\`\`text\n${line}\n\`\`\``)
  const rows = readFileSync(join(folder, 'closures-2026-11.jsonl'), 'utf8').trim().split('\n')
  const failed = rows.map(row => JSON.parse(row)).filter(({ reason }) => reason)
  expect(failed).toMatchObject([
    { state: 'not applied', ...first, reason: expect.stringContaining('HTTP 404') },
    { state: 'unknown', ...second, reason: expect.stringContaining('may have been applied') },
  ])
  expect(await runBatch()).toEqual({ line: allDone, exitCode: 0 })
  expect(accountsWithSeveralKeys()).toEqual([])
})

test('keeps an outcome unknown although a later run is refused', async () => {
  service.fail({ path: path(first), times: 3, with: 'truncate' })
  await runBatch()
  service.fail({ path: path(first), with: () => new Response(null, { status: 404 }) })
  const { line } = await runBatch()
  expect(line).toBe("200 accounts: { deactivated: 199, 'not applied': 0, unknown: 1 }")
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
  const rows = readFileSync(join(folder, 'closures-2026-11.jsonl'), 'utf8').split('\n').filter(Boolean)
  const done = rows.map(row => JSON.parse(row)).filter(({ state }) => state === 'deactivated')
  appendFileSync(join(folder, 'closures-2026-11.jsonl'), '\n{"key":"')
  const again = start()
  const lines = await again.stdout?.toArray()
  await fake.close()
  expect(String(lines)).toBe(`${allDone}\n`)
  expect(accountsWithSeveralKeys(fake.service.requests)).toEqual([])
  expect(done.length).toBeGreaterThan(0)
  const sentAgain = new Set(fake.service.requests.slice(before).map(({ path }) => path))
  expect(done.filter(account => sentAgain.has(path(account)))).toEqual([])
})
