import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startFakeServer } from '../fake-server.js'
import { errors, filesIn, run, service } from './guide.ts'
import { root, snippet } from './snippets.ts'

// batches.md: its program in this process, in a folder of its own, and once as a user runs it.

const code = snippet('batches.md', 'A batch of writes')
const command = snippet('batches.md', 'A batch of writes', 2)
const shown = snippet('batches.md', 'A batch of writes', 3)
const allDone = "200 accounts: { deactivated: 200, 'not applied': 0, unknown: 0 }"

const accounts = Array.from({ length: 200 }, (_, index) => ({
  customerId: `c${index % 7}`,
  virtualAccountId: `v${index}`,
}))
const [first, second] = accounts as [(typeof accounts)[0], (typeof accounts)[0]]
const path = ({ customerId, virtualAccountId }: typeof first) =>
  `/customers/${customerId}/virtual_accounts/${virtualAccountId}/deactivate`

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'virtual-accounts-batch-'))
  writeFileSync(join(folder, 'accounts.json'), JSON.stringify(accounts))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Runs the program to its end: its last line and its exit code. */
async function runBatch() {
  const process = { env: { BASE_URL: service.baseUrl, API_KEY: service.apiKey }, exitCode: 0 }
  await run(code, filesIn(folder), { process })
  const [text, counts] = vi.mocked(console.log).mock.calls.at(-1) ?? []
  return { line: `${text} ${inspect(counts)}`, exitCode: process.exitCode }
}

/** Accounts that were sent with more than one key. */
function accountsWithSeveralKeys(requests = service.requests): string[] {
  const keys = new Map<string, Set<string | null>>()
  for (const { path, headers } of requests) {
    keys.set(path, (keys.get(path) ?? new Set()).add(headers.get('Idempotency-Key')))
  }
  return [...keys].filter(([, { size }]) => size > 1).map(([path]) => path)
}

test('deactivates each account once, and says so', async () => {
  expect(await runBatch()).toEqual({ line: allDone, exitCode: 0 })
  expect(service.requests).toHaveLength(200)
  expect(accounts.some(account => service.isActive(account))).toBe(false)
  expect(await runBatch()).toEqual({ line: allDone, exitCode: 0 })
  expect(service.requests).toHaveLength(200)
})

test('reports a refusal and an unknown outcome, as the guide shows, and finishes both with their keys', async () => {
  service.fail({ path: path(first), with: () => new Response(null, { status: 404 }) })
  service.fail({ path: path(second), times: 3, with: 'truncate' })
  expect(await runBatch()).toEqual({ line: shown.trim(), exitCode: 1 })
  expect(errors().join()).toContain('HTTP 404')
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

test('counts an id that only a bug makes as not applied', async () => {
  const wrong = accounts.with(0, { customerId: 'undefined', virtualAccountId: 'v1' })
  writeFileSync(join(folder, 'accounts.json'), JSON.stringify(wrong))
  const { line } = await runBatch()
  expect(line).toBe("200 accounts: { deactivated: 199, 'not applied': 1, unknown: 0 }")
  expect(errors().join()).toContain('customerId: expected an id')
})

test('sends the same keys after it was killed, and none to accounts that are done', {
  timeout: 60_000,
}, async () => {
  const fake = await startFakeServer({ latency: 5 })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'deactivate.js'), code)
  writeFileSync(join(folder, '.env'), `BASE_URL='${fake.url}'\nAPI_KEY='${fake.service.apiKey}'\n`)
  const { BASE_URL: _, API_KEY: __, ...env } = process.env
  const start = () => {
    const args = ['--import', join(root, 'tools/from-source.js'), ...command.trim().split(' ').slice(1)]
    return execFile(process.execPath, args, { cwd: folder, env: { ...env, NO_COLOR: '1' } })
  }
  const killed = start()
  await vi.waitFor(() => expect(fake.service.requests.length).toBeGreaterThan(60), { timeout: 20_000 })
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  appendFileSync(join(folder, 'closures-2026-11.jsonl'), '\n{"key":"')
  const again = start()
  let stdout = ''
  again.stdout?.on('data', text => {
    stdout += text
  })
  await once(again, 'close')
  await fake.close()
  expect(stdout).toBe(`${allDone}\n`)
  expect(accountsWithSeveralKeys(fake.service.requests)).toEqual([])
  // The ten that were in flight, and no other.
  expect(fake.service.requests.length).toBeLessThanOrEqual(210)
})
