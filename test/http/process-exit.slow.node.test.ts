import { expect, test, vi } from 'vitest'
import { runProgram } from './child-process.ts'
import { FaultServer, json, respond, silence } from './fault-server.ts'

// Each starts a process; a timer left behind would keep it for a minute.
vi.setConfig({ testTimeout: 30_000 })

test.concurrent.each([
  [
    'one call',
    json({ ok: true }),
    `const { data } = await client.virtualAccounts.deactivate(account); process.stdout.write(JSON.stringify(data))`,
    '{"ok":true}',
  ],
  [
    'a call that failed',
    respond(404, '{"reason":"unknown"}'),
    `await client.virtualAccounts.deactivate(account).catch(error => process.stdout.write(String(error.status)))`,
    '404',
  ],
  [
    'a call that was aborted',
    silence,
    `const controller = new AbortController()
     setTimeout(() => controller.abort('enough'), 100)
     await client.virtualAccounts.deactivate(account, { signal: controller.signal }).catch(error => process.stdout.write(error.cause))`,
    'enough',
  ],
  [
    'a call that was aborted during its backoff',
    respond(503, '', { 'retry-after': 50 }),
    `const controller = new AbortController()
     setTimeout(() => controller.abort('enough'), 300)
     await client.virtualAccounts.deactivate(account, { signal: controller.signal }).catch(error => process.stdout.write(error.cause))`,
    'enough',
  ],
  [
    'a list that nobody awaits',
    json({}),
    `client.transactions.list(); process.stdout.write('nothing sent')`,
    'nothing sent',
  ],
  [
    'a list that is awaited late and fails',
    respond(401),
    `const list = client.transactions.list()
     await new Promise(resolve => setTimeout(resolve, 50))
     await list.catch(error => process.stdout.write(String(error.status)))`,
    '401',
  ],
] as const)(
  'a process exits by itself after %s, and nothing is written to the console',
  async (_what, responder, program, written) => {
    await using server = await FaultServer.start(responder)
    expect(await runProgram(server, program)).toEqual({ stdout: written, stderr: '' })
  },
)
