import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { answer, FaultServer, json, silence } from './fault-server.ts'
import { apiKey } from './support.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
// Node 22 says of each type that it strips that this is an experiment.
const fromSource = ['--disable-warning=ExperimentalWarning', '--import', './tools/from-source.js']

/** Runs a program that has a `client`, and gives what it wrote; rejects when it does not end by itself. */
async function run(server: FaultServer, program: string): Promise<unknown> {
  const source = `
    import { Client } from 'virtual-accounts'
    const client = new Client({ baseUrl: ${JSON.stringify(server.url)}, apiKey: ${JSON.stringify(apiKey)} })
    const account = { customerId: 'c1', virtualAccountId: 'v1' }
    ${program}`
  // Far below the 60 s of a forgotten timeout.
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [...fromSource, '--input-type=module', '-e', source],
    { cwd: root, timeout: 10_000 },
  )
  expect(stderr).toBe('')
  return stdout
}

test.concurrent.each([
  [
    'one call and nothing else to do',
    json({ ok: true }),
    `const { data } = await client.virtualAccounts.deactivate(account); process.stdout.write(JSON.stringify(data))`,
    '{"ok":true}',
  ],
  [
    'a call that failed',
    answer(404, '{"reason":"unknown"}'),
    `await client.virtualAccounts.deactivate(account).catch(error => process.stdout.write(String(error.status)))`,
    '404',
  ],
  [
    'a call that was aborted',
    silence,
    `const controller = new AbortController()
     setTimeout(() => controller.abort('enough'), 100)
     await client.virtualAccounts.deactivate(account, controller).catch(reason => process.stdout.write(reason))`,
    'enough',
  ],
  [
    'a call aborted while it waited to try again',
    answer(503, '', { 'retry-after': 50 }),
    `const controller = new AbortController()
     setTimeout(() => controller.abort('enough'), 300)
     await client.virtualAccounts.deactivate(account, controller).catch(reason => process.stdout.write(reason))`,
    'enough',
  ],
  [
    'a list that nobody awaits',
    json({}),
    `client.transactions.list(); process.stdout.write('nothing sent')`,
    'nothing sent',
  ],
  [
    'a list that fails before anyone awaits it',
    answer(401),
    `const list = client.transactions.list()
     await new Promise(resolve => setTimeout(resolve, 50))
     await list.catch(error => process.stdout.write(String(error.status)))`,
    '401',
  ],
] as const)(
  'a process that has made %s ends by itself, and the console stays empty',
  async (_what, answers, program, written) => {
    await using server = await FaultServer.start(answers)
    expect(await run(server, program)).toBe(written)
  },
  15_000,
)
