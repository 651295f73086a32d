import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { sampleTransactions } from 'virtual-accounts/testing'
import { expect, test } from 'vitest'
import { Random } from '../simulation/random.ts'
import { createFolder, run, serveFake } from './programs.ts'

const idsIn = (file: string) => {
  const [, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n')
  return lines.map(line => line.split(',')[0])
}

test('writes every transaction, quoted and safe to open in a spreadsheet, and nothing else', async () => {
  const folder = createFolder()
  const { env } = await serveFake({
    transactions: [
      { id: 't1', amount: 1e21, currency: 'EUR', description: 'Café "Zur Post", München' },
      { id: 't2', amount: -0.5, currency: 'EUR', description: '=1+1' },
      { id: 't3', amount: 1e-7, currency: 'EUR', description: 'two\nlines' },
    ],
  })
  const { code, stdout } = await run('export-csv.js', { env, folder })
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'Wrote 3 transactions to transactions.csv\n' })
  expect(readdirSync(folder)).toEqual(['transactions.csv'])
  expect(readFileSync(join(folder, 'transactions.csv'), 'utf8').split('\n')).toEqual([
    '\ufeffid,amount,currency,description',
    't1,1000000000000000000000,EUR,"Café ""Zur Post"", München"',
    "t2,-0.5,EUR,'=1+1",
    't3,0.0000001,EUR,"two',
    'lines"',
    '',
  ])
})

test('killed 50 times while the list changes, it misses nothing and writes nothing twice', {
  timeout: 600_000,
}, async () => {
  const random = new Random('kills')
  const folder = createFolder()
  const { service, env } = await serveFake({ transactions: sampleTransactions(30_000), latency: 5 })
  const { transactions } = service
  const initial = transactions.map(({ id }) => id)
  let added = 0
  const change = () => {
    transactions.splice(random.integer(0, transactions.length - 1), 1)
    const item = { id: `new-${++added}`, amount: 1, currency: 'EUR', description: 'added meanwhile' }
    transactions.splice(random.integer(0, transactions.length), 0, item)
  }
  const exported = join(folder, 'transactions.csv')
  let kills = 0
  const runAndKill = async () => {
    const before = service.requests.length
    const count = random.integer(1, 12)
    const killer = new AbortController()
    const ended = run('export-csv.js', { env, folder, killer: killer.signal })
    let isRunning = true
    void ended.then(() => {
      isRunning = false
    })
    for (let seen = before; isRunning && seen < before + count; ) {
      await wait(1)
      for (; seen < service.requests.length; seen++) change()
    }
    await wait(random.integer(0, 20))
    killer.abort()
    const { code } = await ended
    if (code === 'SIGKILL') kills++
  }

  while (kills < 50 && !existsSync(exported)) await runAndKill()
  expect(kills).toBe(50)
  const { code, stderr } = await run('export-csv.js', { env, folder })
  expect(code).toBe(0)
  expect(stderr).toContain('Continuing after')

  const ids = idsIn(exported)
  expect(new Set(ids).size).toBe(ids.length)
  const left = new Set(transactions.map(({ id }) => id))
  const throughout = initial.filter(id => left.has(id))
  const expected = new Set(throughout)
  expect(ids.filter(id => id !== undefined && expected.has(id))).toEqual(throughout)
})

/** Runs the export as on a terminal, where it redraws a line. */
const onTerminal = [
  '--import',
  'data:text/javascript,process.stderr.isTTY = true; process.stderr.columns = 80',
]
const clearsLine = '\r\x1b[K'

test('leaves a clean line at Ctrl-C, and says how to continue', async () => {
  const folder = createFolder()
  const { env } = await serveFake({ latency: 100 })
  const stopped = await run('export-csv.js', {
    env,
    folder,
    flags: onTerminal,
    interruptAt: /[1-9]00 of 1,000/,
  })
  expect(stopped.code).toBe(130)
  expect(stopped.stderr.split(clearsLine).at(-1)).toMatch(
    /^Stopped at [1-9]\d* of 1,000\. Run it again to continue\.\n$/,
  )
})

test('shows a retry, and how long it waits', async () => {
  const { service, env } = await serveFake()
  const unavailable = new Response(null, { status: 503, headers: { 'Retry-After': '2' } })
  service.fail({ with: unavailable })
  const { code, stderr } = await run('export-csv.js', { env, folder: createFolder(), flags: onTerminal })
  expect(code).toBe(0)
  const shown = stderr.split(clearsLine)
  expect(shown).toContain('next in 2 s: HTTP 503')
  expect(shown).toContain('next in 1 s: HTTP 503')
})
