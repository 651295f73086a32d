// The programs of docs/scaling.md with their kills. What counts is what the service received and what is in the file, so
// the fault server runs here, and the programs are given its address.
// Usage: node test/scaling/run.js, after `npm run build` and `npm ci --prefix examples/scaling/bullmq`, with Redis.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sampleTransactions } from 'virtual-accounts/testing'
import { keyOf, madeUp } from '../../examples/bulk-deactivate/accounts.js'
import { startFaultServer } from '../../examples/scaling/fault-server.js'

const root = join(dirname(fileURLToPath(import.meta.url)), '../..')
const folder = await mkdtemp(join(tmpdir(), 'scaling-check-'))
let failed = 0

async function check(name, examine) {
  const began = performance.now()
  try {
    await examine()
    console.log(`✓ ${name} (${((performance.now() - began) / 1000).toFixed(0)} s)`)
  } catch (error) {
    failed++
    console.error(`✗ ${name}\n${error.stack}`)
  }
}

/** Runs a program against a fault server. The killer is given the process once it has begun. */
async function run(program, args, { service, env, killer } = {}) {
  const child = spawn(process.execPath, [join(root, 'examples', program), ...args], {
    // A safety net, for what would never end.
    timeout: 180_000,
    killSignal: 'SIGKILL',
    env: {
      ...process.env,
      ...(service && { BASE_URL: service.url, API_KEY: 'test_key', ALLOW_WRITES: '1' }),
      ...env,
    },
  })
  const printed = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'])
    child[name].setEncoding('utf8').on('data', text => (printed[name] += text))
  killer?.(child)
  const [code, signal] = await once(child, 'close')
  return { code, signal, ...printed }
}

async function withService(options, use) {
  const service = await startFaultServer(options)
  try {
    await use(service)
  } finally {
    await service.close()
  }
}

const accounts = Array.from({ length: 10_000 }, (_, index) => madeUp(index + 1))
const pathOf = ({ customerId, virtualAccountId }) =>
  `/customers/${customerId}/virtual_accounts/${virtualAccountId}/deactivate`

async function fileOf(someAccounts) {
  const file = join(folder, `${someAccounts.length}-accounts.ndjson`)
  await writeFile(file, someAccounts.map(account => `${JSON.stringify(account)}\n`).join(''))
  return file
}

/** Every account deactivated, with the one key that is its own in this batch. */
function assertWritten(service, batch, someAccounts) {
  const keys = new Map(someAccounts.map(account => [pathOf(account), keyOf(batch, account)]))
  for (const { path, headers } of service.service.requests) {
    assert.equal(headers.get('Idempotency-Key'), keys.get(path), path)
  }
  for (const account of someAccounts) assert.equal(service.service.isActive(account), false, pathOf(account))
  assert.equal(new Set(keys.values()).size, someAccounts.length)
  const { keys: received, keysOfSeveralAccounts, accountsWithSeveralKeys } = service.received()
  assert.deepEqual(
    { received, keysOfSeveralAccounts, accountsWithSeveralKeys },
    { received: someAccounts.length, keysOfSeveralAccounts: 0, accountsWithSeveralKeys: 0 },
  )
}

try {
  await check('docs/scaling.md has the tables that estimate.js makes', async () => {
    const { stdout } = await run('scaling/estimate.js', [])
    const tables = stdout.match(/(?:^\|.*\n)+/gm)
    const page = await readFile(join(root, 'docs/scaling.md'), 'utf8')
    assert.equal(tables?.length, 3)
    for (const table of tables) assert.ok(page.includes(table), table)
  })

  await check('without a Redis it is said what to install', async () => {
    const env = { PATH: folder, REDIS_URL: '' }
    for (const program of ['bulk-deactivate', 'export-parallel']) {
      const { code, stderr } = await run(program, [], { env })
      assert.match(stderr, /^A Redis is needed: install redis-server .*REDIS_URL/)
      assert.equal(code, 1)
    }
  })

  await check(
    '10,000 accounts are deactivated, a worker killed, the service faulty, 3 accounts refused at first',
    () =>
      withService({}, async service => {
        const refused = [accounts[0], accounts[4999], accounts[9999]]
        for (const account of refused) service.refused.add(pathOf(account))
        const args = ['--accounts', await fileOf(accounts), '--batch', 'b1', '--state', join(folder, 'b1')]

        const first = await run('bulk-deactivate', [...args, '--kill'], { service })
        assert.equal(first.code, 1, first.stderr)
        assert.match(first.stderr, /ended \(SIGKILL\)/)
        assert.match(first.stderr, /\d of 10,000.* a second/)
        assert.match(first.stderr, /9,997 deactivated, 3 failed for good/)
        const listed = first.stdout
          .trim()
          .split('\n')
          .map(line => JSON.parse(line))
        assert.deepEqual(
          new Map(
            listed.map(({ idempotencyKey, reason, answer }) => [
              idempotencyKey,
              { reason: /answered 422/.test(reason), answer },
            ]),
          ),
          new Map(
            refused.map(account => [
              keyOf('b1', account),
              { reason: true, answer: { error: { message: 'Not this one.' } } },
            ]),
          ),
        )

        const { faults } = service.received()
        for (const name of ['429', '503', 'dropped before it was applied', 'dropped after it was applied']) {
          assert.ok(faults[name] > 0, `no ${name}: nothing was shown`)
        }

        service.refused.clear()
        const earlier = service.service.requests.length
        const second = await run('bulk-deactivate', args, { service })
        assert.equal(second.code, 0, second.stderr)
        assert.equal(second.stdout, '')
        const sent = new Set(service.service.requests.slice(earlier).map(({ path }) => path))
        assert.deepEqual(sent, new Set(refused.map(pathOf)))
        assertWritten(service, 'b1', accounts)
      }),
  )

  await check('a batch goes on when everything was killed, and a later batch has keys of its own', () =>
    withService({}, async service => {
      const some = accounts.slice(0, 1500)
      const file = await fileOf(some)
      const args = ['--accounts', file, '--batch', 'b2', '--state', join(folder, 'b2')]
      const killer = async child => {
        while (service.service.requests.length < 300) await once(child.stderr, 'data')
        child.kill('SIGKILL')
      }
      const first = await run('bulk-deactivate', args, { service, killer })
      assert.equal(first.signal, 'SIGKILL')
      assert.ok(service.received().deactivated < some.length, 'it was killed too late to show anything')

      const second = await run('bulk-deactivate', args, { service })
      assert.equal(second.code, 0, second.stderr)
      assertWritten(service, 'b2', some)

      const keysBefore = service.received().keys
      const third = await run('bulk-deactivate', ['--accounts', file, '--batch', 'b3'], { service })
      assert.equal(third.code, 0, third.stderr)
      assert.equal(service.received().keys, 2 * keysBefore)
    }),
  )

  const transactions = sampleTransactions(40_000)
  const fresh = sampleTransactions(400, 7).map(({ id, ...rest }) => ({ id: `new-${id}`, ...rest }))
  const exported = async file =>
    (await readFile(file, 'utf8'))
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
  const byId = items => new Map(items.map(item => [item.id, item]))

  async function assertExported(file, service) {
    const items = await exported(file)
    assert.equal(items.length, service.service.transactions.length)
    assert.deepEqual(byId(items), byId(service.service.transactions))
  }

  await check('40,000 transactions are exported, each once, a worker killed, the service faulty', () =>
    withService({ transactions }, async service => {
      const output = join(folder, 'all.ndjson')
      const { code, stderr } = await run('export-parallel', ['--output', output, '--kill'], { service })
      assert.equal(code, 0, stderr)
      assert.match(stderr, /ended \(SIGKILL\)/)
      await assertExported(output, service)
    }),
  )

  /** Changes the list with the 20th page that is asked for, and again with the 35th. */
  function changing(change) {
    const holder = { asked: 0 }
    const onRequest = ({ method }) => {
      if (method !== 'GET') return
      holder.asked++
      if (holder.asked === 20 || holder.asked === 35) change(holder.server.service.transactions, holder.asked)
    }
    return { holder, options: { transactions: transactions.slice(0, 5000), latency: 5, onRequest } }
  }
  const added = asked => (asked === 20 ? fresh.slice(0, 250) : fresh.slice(250))
  const growing = {
    'at its beginning': (list, asked) => list.unshift(...added(asked)),
    'at its end': (list, asked) => list.push(...added(asked)),
    'in its middle': (list, asked) => list.splice(2222, 0, ...added(asked)),
  }
  for (const [where, grow] of Object.entries(growing)) {
    await check(`a list that grows ${where} is exported whole`, async () => {
      const { holder, options } = changing(grow)
      await withService(options, async service => {
        holder.server = service
        const output = join(folder, 'grown.ndjson')
        const { code, stderr } = await run('export-parallel', ['--output', output, '--pages', '3'], {
          service,
        })
        assert.equal(code, 0, stderr)
        assert.match(stderr, /The list grew from 5,000 to 5,400/)
        await assertExported(output, service)
      })
    })
  }

  await check('a list that shrank is said to have', async () => {
    const { holder, options } = changing(list => list.splice(0, 30))
    await withService(options, async service => {
      holder.server = service
      const output = join(folder, 'shrunken.ndjson')
      const { code, stderr } = await run('export-parallel', ['--output', output], { service })
      assert.match(stderr, /The list shrank.*5,000 before, 4,940 now/)
      assert.equal(code, 2)
    })
  })

  await check('an export goes on when a page was refused', () =>
    withService({ transactions: transactions.slice(0, 5000) }, async service => {
      service.refused.add('/transactions?page=7&limit=100')
      const output = join(folder, 'later.ndjson')
      const args = ['--output', output, '--name', 'e1', '--state', join(folder, 'e1')]
      const first = await run('export-parallel', args, { service })
      assert.equal(first.code, 1)
      assert.match(first.stderr, /^pages-1-10: .*answered 422/m)

      service.refused.clear()
      const earlier = service.service.requests.length
      const second = await run('export-parallel', args, { service })
      assert.equal(second.code, 0, second.stderr)
      await assertExported(output, service)
      assert.ok(service.service.requests.length - earlier < 30, 'parts that were there are read again')
    }),
  )
} finally {
  await rm(folder, { recursive: true, force: true })
}
process.exitCode = failed === 0 ? 0 : 1
