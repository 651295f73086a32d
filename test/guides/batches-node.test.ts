import { execFile } from 'node:child_process'
import { appendFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FakeService } from 'virtual-accounts/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startFakeServer } from '../../examples/fake-server.js'
import { Guide } from './guide.ts'

// The program of the guide as a reader has it: a process in a folder of its own.

vi.setConfig({ testTimeout: 60_000 })

const root = join(import.meta.dirname, '../..')
const guide = new Guide('docs/batches.md')
const code = guide.code('readJournal')
const command = guide.code('node --env-file')
const shown = guide.code('200 accounts:')

const accounts = Array.from({ length: 200 }, (_, index) => ({
  customerId: `c${index % 7}`,
  virtualAccountId: `v${index}`,
}))

let folder: string
let fake: { service: FakeService; url: string; close: () => Promise<void> }

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'virtual-accounts-batch-'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'deactivate.js'), code)
  writeFileSync(join(folder, 'accounts.json'), JSON.stringify(accounts))
  fake = await startFakeServer({ port: 0, latency: 5 })
  const { url, service } = fake
  writeFileSync(join(folder, '.env'), `BASE_URL='${url}'\nAPI_KEY='${service.apiKey}'\n`)
})
afterEach(async () => {
  await fake.close()
  rmSync(folder, { recursive: true, force: true })
})

function start() {
  const fromSource = new URL('../../tools/from-source.js', import.meta.url).href
  // Vitest sets a BASE_URL, which takes precedence over a file.
  const { BASE_URL: _, ...inherited } = process.env
  const options = { cwd: folder, env: { ...inherited, NO_COLOR: '1' } }
  const args = ['--import', fromSource, ...command.trim().split(' ').slice(1)]
  let end: (result: { code: number; stdout: string; stderr: string }) => void
  const ended = new Promise<{ code: number; stdout: string; stderr: string }>(resolve => {
    end = resolve
  })
  const child = execFile(process.execPath, args, options, (error, stdout, stderr) => {
    end({ code: Number(error?.code ?? 0), stdout, stderr })
  })
  return { child, ended }
}
const run = () => start().ended

const path = ({ customerId, virtualAccountId }: (typeof accounts)[number]) =>
  `/customers/${customerId}/virtual_accounts/${virtualAccountId}/deactivate`
const keysByPath = () => {
  const keys = new Map<string, Set<string | null>>()
  for (const { path, headers } of fake.service.requests) {
    keys.set(path, (keys.get(path) ?? new Set()).add(headers.get('Idempotency-Key')))
  }
  return keys
}

test('deactivates each account once, and says so', async () => {
  const { code, stdout, stderr } = await run()
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: "200 accounts: { deactivated: 200, 'not applied': 0, unknown: 0 }\n",
    stderr: '',
  })
  expect(fake.service.requests).toHaveLength(200)
  expect(accounts.some(account => fake.service.isActive(account))).toBe(false)
})

test('sends the same keys after it was killed, and none to accounts that are done', async () => {
  const { child, ended } = start()
  await vi.waitFor(() => expect(fake.service.requests.length).toBeGreaterThan(60), { timeout: 20_000 })
  child.kill('SIGKILL')
  await ended
  appendFileSync(join(folder, 'closures-2026-11.jsonl'), '\n{"key":"')
  const { stdout } = await run()
  expect(stdout).toBe("200 accounts: { deactivated: 200, 'not applied': 0, unknown: 0 }\n")
  expect([...keysByPath().values()].filter(keys => keys.size > 1)).toEqual([])
  // The ten that were in flight, and no other.
  expect(fake.service.requests.length).toBeLessThanOrEqual(210)
})

test('reports a refusal and an unknown outcome, as the guide shows', async () => {
  const { service } = fake
  const [refused, lost] = accounts as [(typeof accounts)[0], (typeof accounts)[0]]
  service.fail({ path: path(refused), with: () => new Response(null, { status: 404 }) })
  service.fail({ path: path(lost), times: 3, with: 'truncate' })
  const { code, stdout, stderr } = await run()
  expect(code).toBe(1)
  expect(stdout).toBe(shown)
  expect(stderr).toContain('HTTP 404')
  expect((await run()).stdout).toBe("200 accounts: { deactivated: 200, 'not applied': 0, unknown: 0 }\n")
})

test('keeps an outcome unknown although a later run is refused', async () => {
  const { service } = fake
  const [account] = accounts as [(typeof accounts)[0]]
  service.fail({ path: path(account), times: 3, with: 'truncate' })
  await run()
  service.fail({ path: path(account), with: () => new Response(null, { status: 404 }) })
  expect((await run()).stdout).toBe("200 accounts: { deactivated: 199, 'not applied': 0, unknown: 1 }\n")
})

test('counts an id that only a bug makes as not applied', async () => {
  const wrong = accounts.with(0, { customerId: 'undefined', virtualAccountId: 'v1' })
  writeFileSync(join(folder, 'accounts.json'), JSON.stringify(wrong))
  const { stdout, stderr } = await run()
  expect(stdout).toBe("200 accounts: { deactivated: 199, 'not applied': 1, unknown: 0 }\n")
  expect(stderr).toContain('customerId: expected an id')
})
