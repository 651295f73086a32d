// Runs the programs of docs/scaling.md with their kills, and breaks them. What counts is what the service received and
// what is in the file, so the fault server runs here, and the programs are given its address.
// Usage: node test/scaling/run.js [part of a name], after `npm run build` and `(cd examples/scaling/bullmq && npm ci)`,
// with Redis.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { sampleTransactions } from 'virtual-accounts/testing'
import { keyOf, madeUp, pathOf } from '../../examples/bulk-deactivate/accounts.js'
import { Redis } from '../../examples/scaling/bullmq/index.js'
import { startFaultServer } from '../../examples/scaling/fault-server.js'
import { startRedis } from '../../examples/scaling/redis.js'

const root = join(dirname(fileURLToPath(import.meta.url)), '../..')
const fromSource = pathToFileURL(join(root, 'tools/from-source.js')).href
const skippingWorker = pathToFileURL(join(root, 'test/scaling/skipping-worker.js')).href
const folder = await mkdtemp(join(tmpdir(), 'scaling-check-'))
const only = process.argv[2]
let failed = 0

async function check(name, examine) {
  if (only && !name.includes(only)) return
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
  const child = spawn(process.execPath, ['--import', fromSource, join(root, 'examples', program), ...args], {
    // A safety net, for what would never end.
    timeout: 300_000,
    killSignal: 'SIGKILL',
    env: {
      ...process.env,
      // What a run that fails leaves, to be run again.
      TMPDIR: folder,
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
  const initial = new Map(options.transactions?.map(item => [item.id, item]))
  try {
    await use({ ...service, initial })
  } finally {
    await service.close()
  }
}

async function afterRequests(service, count, act) {
  while (service.service.requests.length < count) await wait(20)
  await act()
}

const accounts = Array.from({ length: 10_000 }, (_, index) => madeUp(index + 1))
const writeTo = account => `${pathOf(account)}/deactivate`

async function fileOf(someAccounts) {
  const file = join(folder, `${someAccounts.length}-accounts.ndjson`)
  await writeFile(file, someAccounts.map(account => `${JSON.stringify(account)}\n`).join(''))
  return file
}

/** Every account deactivated, with the one key that is its own in this batch. */
function assertWritten(service, batch, someAccounts) {
  const keys = new Map(someAccounts.map(account => [writeTo(account), keyOf(batch, account)]))
  for (const { path, headers } of service.service.requests) {
    assert.equal(headers.get('Idempotency-Key'), keys.get(path), path)
  }
  for (const account of someAccounts) assert.equal(service.service.isActive(account), false, writeTo(account))
  assert.equal(new Set(keys.values()).size, someAccounts.length)
  const { keys: received, keysOfSeveralAccounts, accountsWithSeveralKeys } = service.received()
  assert.deepEqual(
    { received, keysOfSeveralAccounts, accountsWithSeveralKeys },
    { received: someAccounts.length, keysOfSeveralAccounts: 0, accountsWithSeveralKeys: 0 },
  )
}

/** Without one printed line that only says where in Node it happened. */
function assertOneLine({ code, stderr }, expected) {
  assert.equal(code, 1, stderr)
  assert.match(stderr.trimEnd().split('\n').at(-1), expected)
  assert.doesNotMatch(stderr, /^ {4}at |node:internal/m)
}

try {
  await check('docs/scaling.md has the figures that were measured', async () => {
    const measured = JSON.parse(await readFile(join(root, 'examples/scaling/measured.json'), 'utf8'))
    const page = await readFile(join(root, 'docs/scaling.md'), 'utf8')
    assert.ok(page.includes(`deactivates ${measured.writesOfOne.perSecond} accounts a second`))
    assert.ok(page.includes(`through a queue, ${measured.writesOfWorkers.perSecond}.`))
  })

  for (const program of ['bulk-deactivate', 'export-parallel']) {
    await check(`${program} says in one line what to install or to set`, async () => {
      const unset = { BASE_URL: '', API_KEY: '', REDIS_URL: '' }
      const withEnv = env => run(program, [], { env: { ...unset, ...env } })
      assertOneLine(await withEnv({ PATH: folder }), /^Redis is missing: install redis-server .*REDIS_URL/)
      assertOneLine(
        await withEnv({ REDIS_URL: 'redis://127.0.0.1:1' }),
        /^REDIS_URL: cannot connect to 127.0.0.1:1 /,
      )
      assertOneLine(await withEnv({ REDIS_URL: 'here' }), /^REDIS_URL: expected a URL/)
      assertOneLine(
        await withEnv({ BASE_URL: 'https://api.example.com' }),
        /^BASE_URL is set, but API_KEY is not/,
      )
      assertOneLine(
        await withEnv({ BASE_URL: 'nonsense', API_KEY: 'k' }),
        /^BASE_URL: expected an absolute URL/,
      )
    })
  }

  await check('10,000 accounts, a worker killed, the service faulty, 3 accounts refused at first', () =>
    withService({}, async service => {
      const refused = [accounts[0], accounts[4999], accounts[9999]]
      for (const account of refused) service.refused.add(writeTo(account))
      const args = ['--accounts', await fileOf(accounts), '--batch', 'b1', '--state', join(folder, 'b1')]

      const first = await run('bulk-deactivate', [...args, '--kill'], { service })
      assert.equal(first.code, 1, first.stderr)
      assert.match(first.stderr, /worker 1 was killed/)
      assert.match(first.stderr, /^✓ \d+ jobs of the killed worker were taken over after \d+ s$/m)
      assert.match(first.stderr, /\d of 10,000 accounts.* a second/)
      assert.match(
        first.stderr,
        /^✗ 9,997 of 10,000 accounts are proven to be deactivated\n {2}3: failed for good$/m,
      )
      assert.match(first.stderr, /npm run example examples\/bulk-deactivate -- .*--batch b1/s)
      const listed = first.stdout
        .trim()
        .split('\n')
        .map(line => JSON.parse(line))
      assert.deepEqual(
        new Map(
          listed.map(({ idempotencyKey, reason, response }) => [
            idempotencyKey,
            { reason: /422/.test(reason), response },
          ]),
        ),
        new Map(
          refused.map(account => [
            keyOf('b1', account),
            { reason: true, response: { error: { message: 'Not this one.' } } },
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
      assert.deepEqual(sent, new Set(refused.map(writeTo)))
      assertWritten(service, 'b1', accounts)
    }),
  )

  await check('a batch continues when everything was killed, and a later batch has keys of its own', () =>
    withService({}, async service => {
      const some = accounts.slice(0, 1500)
      const file = await fileOf(some)
      const args = ['--accounts', file, '--batch', 'b2', '--state', join(folder, 'b2')]
      const killer = child => afterRequests(service, 300, () => child.kill('SIGKILL'))
      const first = await run('bulk-deactivate', args, { service, killer })
      assert.equal(first.signal, 'SIGKILL')
      assert.ok(
        service.received().deactivated.length < some.length,
        'it was killed too late to show anything',
      )

      const second = await run('bulk-deactivate', args, { service })
      assert.equal(second.code, 0, second.stderr)
      assertWritten(service, 'b2', some)

      const keysBefore = service.received().keys
      const third = await run('bulk-deactivate', ['--accounts', file, '--batch', 'b3'], { service })
      assert.equal(third.code, 0, third.stderr)
      assert.equal(service.received().keys, 2 * keysBefore)
    }),
  )

  /** A Redis of its own, which can be flushed. */
  async function withRedis(use) {
    const { url, close } = await startRedis(await mkdtemp(join(folder, 'redis-')))
    const flush = async () => {
      const connection = new Redis(url)
      await connection.flushall()
      await connection.quit()
    }
    try {
      await use({ env: { REDIS_URL: url }, flush })
    } finally {
      await close()
    }
  }

  await check('a batch whose queue is flushed in the middle fails, and continues when it is run again', () =>
    withRedis(({ env, flush }) =>
      withService({}, async service => {
        const some = accounts.slice(0, 3000)
        const args = ['--accounts', await fileOf(some), '--batch', 'b4']
        const killer = () => afterRequests(service, 1000, flush)
        const first = await run('bulk-deactivate', args, { service, env, killer })
        assert.equal(first.code, 1, first.stderr)
        assert.match(first.stderr, /^✗ \d+ of 3,000 accounts are proven to be deactivated$/m)
        assert.match(first.stderr, /: the queue lost its job$/m)
        assert.ok(
          service.received().deactivated.length < some.length,
          'it was flushed too late to show anything',
        )

        const second = await run('bulk-deactivate', args, { service, env })
        assert.equal(second.code, 0, second.stderr)
        assertWritten(service, 'b4', some)
      }),
    ),
  )

  for (const [how, reason] of Object.entries({
    'an account silently': 'its job ended without a response',
    'an account with a lie': 'the service did not receive it',
  })) {
    await check(`a batch fails when a worker skips ${how}`, async () => {
      const env = { NODE_OPTIONS: `--import ${skippingWorker}`, SKIPPING: how }
      const { code, stdout, stderr } = await run('bulk-deactivate', ['--count', '200'], { env })
      assert.equal(code, 1, stderr)
      assert.match(
        stderr,
        new RegExp(`^✗ 199 of 200 accounts are proven to be deactivated\n {2}1: ${reason}$`, 'm'),
      )
      const { customerId, virtualAccountId, reason: printed } = JSON.parse(stdout)
      assert.deepEqual({ customerId, virtualAccountId, printed }, { ...madeUp(7), printed: reason })
    })
  }

  await check('a batch with a wrong key stops at the first response, and continues with the right one', () =>
    withService({ faulty: false }, async service => {
      const some = accounts.slice(0, 500)
      const args = ['--accounts', await fileOf(some), '--batch', 'b5', '--state', join(folder, 'b5')]
      const wrong = await run('bulk-deactivate', args, { service, env: { API_KEY: 'wrong_key' } })
      assert.equal(wrong.code, 1, wrong.stderr)
      assert.match(wrong.stderr, /Stopped at the first refusal: POST/)
      assert.match(wrong.stderr, /500: still in the queue/)
      assert.doesNotMatch(wrong.stderr, /wrong_key/)
      // What the workers had in flight.
      assert.ok(service.service.requests.length <= 40, `${service.service.requests.length} requests`)

      const right = await run('bulk-deactivate', args, { service })
      assert.equal(right.code, 0, right.stderr)
      assertWritten(service, 'b5', some)
    }),
  )

  const transactions = sampleTransactions(20_000)
  const byId = items => new Map(items.map(item => [item.id, item]))

  /** Every transaction that was in the list throughout, and none twice. */
  async function assertExported(file, service) {
    const lines = (await readFile(file, 'utf8')).trim().split('\n')
    const items = byId(lines.map(line => JSON.parse(line)))
    assert.equal(items.size, lines.length)
    const left = byId(service.service.transactions)
    const throughout = [...service.initial].filter(([id]) => left.has(id))
    for (const [id, item] of throughout) assert.deepEqual(items.get(id), item)
    for (const [id] of items)
      assert.ok(service.initial.has(id) || left.has(id), `${id} was never in the list`)
    return throughout.length
  }

  await check('20,000 transactions, a worker killed, the service faulty', () =>
    withService({ transactions }, async service => {
      const output = join(folder, 'all.ndjson')
      const { code, stderr } = await run('export-parallel', ['--output', output, '--kill', '--pages', '10'], {
        service,
      })
      assert.equal(code, 0, stderr)
      assert.match(stderr, /worker 1 was killed/)
      assert.match(stderr, /^✓ 20,000 transactions in .*, each exactly once$/m)
      assert.match(stderr, /^✓ 19 overlaps between parts verified, 0 of them after reading again$/m)
      assert.equal(await assertExported(output, service), 20_000)
    }),
  )

  await check(
    'an export whose queue is flushed in the middle fails, and starts over when it is run again',
    () =>
      withRedis(({ env, flush }) =>
        withService({ transactions, faulty: false }, async service => {
          const output = join(folder, 'flushed.ndjson')
          const args = ['--output', output, '--name', 'e2', '--state', join(folder, 'e2'), '--pages', '10']
          const killer = () => afterRequests(service, 100, flush)
          const first = await run('export-parallel', args, { service, env, killer })
          assert.equal(first.code, 1, first.stderr)
          assert.match(first.stderr, /there is no file yet\n {2}The queue lost its jobs/)
          await assert.rejects(readFile(output), { code: 'ENOENT' })

          const second = await run('export-parallel', [...args, '--limit', '50'], { service, env })
          assert.equal(second.code, 0, second.stderr)
          assert.equal(await assertExported(output, service), 20_000)
        }),
      ),
  )

  await check('an export of two pages in parts of one has both', async () => {
    const args = ['--output', join(folder, 'short.ndjson'), '--transactions', '150', '--pages', '1']
    const { code, stderr } = await run('export-parallel', args)
    assert.equal(code, 0, stderr)
    assert.match(stderr, /^✓ 150 transactions in .*, each exactly once$/m)
    assert.match(stderr, /^✓ 1 overlap /m)
  })

  await check('an export fails when a worker skips a transaction', async () => {
    const skipped = sampleTransactions(1000)[250].id
    const env = { NODE_OPTIONS: `--import ${skippingWorker}`, SKIPPING: 'a transaction', SKIPPED_ID: skipped }
    const args = ['--output', join(folder, 'skipped.ndjson'), '--transactions', '1000', '--pages', '5']
    const { code, stderr } = await run('export-parallel', args, { env })
    assert.equal(code, 1, stderr)
    assert.match(stderr, /^✗ .* is incomplete or wrong.*\n {2}0 duplicates, 1 missing$/m)
  })

  const fresh = sampleTransactions(2000, 7).map(({ id, ...rest }) => ({ id: `new-${id}`, ...rest }))
  let used = 0
  function some(count) {
    used += count
    return fresh.slice(used - count, used)
  }
  /** Each changes the list between two requests, again and again: at every fourth of the first 70. */
  const changes = {
    'loses one and gains one': list => {
      list.splice(0, 1)
      list.push(...some(1))
    },
    'loses one and gains one at random places': (list, request) => {
      list.splice((request * 7919) % list.length, 1)
      list.splice((request * 104_729) % list.length, 0, ...some(1))
    },
    'grows at its beginning': list => list.unshift(...some(20)),
    shrinks: list => list.splice(0, 3),
    'loses more than the parts overlap by': (list, request) => {
      if (request === 32) list.splice(0, 450)
      if (request === 36) list.push(...some(450))
    },
  }
  for (const [what, change] of Object.entries(changes)) {
    await check(`a list that ${what} while it is read is exported whole`, async () => {
      let requests = 0
      let list
      used = 0
      const onRequest = ({ method }) => {
        if (method === 'GET' && ++requests > 10 && requests <= 70 && requests % 4 === 0)
          change(list, requests)
      }
      await withService(
        { transactions: transactions.slice(0, 5000), latency: 5, onRequest },
        async service => {
          list = service.service.transactions
          const output = join(folder, 'changed.ndjson')
          const args = ['--output', output, '--pages', '5']
          const { code, stderr } = await run('export-parallel', args, { service })
          assert.equal(code, 0, stderr)
          assert.ok((await assertExported(output, service)) < 5000 || used > 0, 'nothing changed')
          if (what.startsWith('loses more'))
            assert.match(stderr, /verified, [1-9]\d* of them after reading again/)
        },
      )
    })
  }

  await check('an export does not start when a service does not let pages overlap', () =>
    withService({ transactions: transactions.slice(0, 1000), faulty: false }, async service => {
      const { handle } = service.service
      service.service.handle = request => {
        const url = new URL(request.url)
        url.searchParams.set('limit', '100')
        return handle(new Request(url, request))
      }
      const output = join(folder, 'never.ndjson')
      const ended = await run('export-parallel', ['--output', output], { service })
      assertOneLine(
        ended,
        /^The service turns limit=99 into 100, so pages cannot overlap and nothing can be proven/,
      )
      await assert.rejects(readFile(output), { code: 'ENOENT' })
    }),
  )

  await check('an export continues when a page was refused', () =>
    withService({ transactions: transactions.slice(0, 5000) }, async service => {
      const refuse = ({ method, url }) =>
        method === 'GET' && Number(new URL(url).searchParams.get('page')) === 7
      const { handle } = service.service
      service.service.handle = request =>
        refuse(request) ? Promise.resolve(new Response(null, { status: 422 })) : handle(request)
      const output = join(folder, 'later.ndjson')
      const args = ['--output', output, '--name', 'e1', '--pages', '5', '--state', join(folder, 'e1')]
      const first = await run('export-parallel', args, { service })
      assert.equal(first.code, 1)
      assert.match(first.stderr, /from-page-6: .*422/)
      assert.match(first.stderr, /npm run example examples\/export-parallel -- .*--name e1/s)

      service.service.handle = handle
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
