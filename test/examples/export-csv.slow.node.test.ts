import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, test } from 'vitest'
import { createFolder, run, serveFake } from './programs.ts'

describe('export-csv', () => {
  test('writes every transaction, quoted and safe to open in a spreadsheet', async () => {
    const folder = createFolder()
    const { env } = await serveFake({
      transactions: [
        { id: 't1', amount: 1e21, currency: 'EUR', description: 'Café "Zur Post", München' },
        { id: 't2', amount: -0.5, currency: 'EUR', description: '=1+1' },
        { id: 't3', amount: 1e-7, currency: 'EUR', description: 'two\nlines' },
      ],
    })
    const { code, stdout, stderr } = await run('export-csv.js', { env, folder })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Wrote 3 transactions to transactions.csv.\n' })
    expect(stderr).toMatch(/█{20} 3 of 3, [\d,]+ a second, in \d\.\d\d s\n$/)
    expect(readFileSync(join(folder, 'transactions.csv'), 'utf8').split('\n')).toEqual([
      '\ufeffid,amount,currency,description',
      't1,1000000000000000000000,EUR,"Café ""Zur Post"", München"',
      "t2,-0.5,EUR,'=1+1",
      't3,0.0000001,EUR,"two',
      'lines"',
      '',
    ])
  })

  test('writes 40,000 in a heap that could not hold them', { timeout: 90_000 }, async () => {
    const description = 'x'.repeat(900)
    const transactions = sampleTransactions(40_000).map(transaction => ({ ...transaction, description }))
    const folder = createFolder()
    const { env } = await serveFake({ transactions, maxLimit: 1000 })
    const { code, stderr } = await run('export-csv.js', { env, flags: ['--max-old-space-size=36'], folder })
    expect(stderr.match(/ of 40,000, [\d,]+ a second, (\d+ s left|in [\d.]+ s)\n/g)).toHaveLength(10)
    expect(code).toBe(0)
    const lines = readFileSync(join(folder, 'transactions.csv'), 'utf8').trimEnd().split('\n')
    expect(lines.slice(1).map(line => line.split(',')[0])).toEqual(transactions.map(({ id }) => id))
  })

  test('ends its line at Ctrl-C, says how far it is, and continues from there', async () => {
    const folder = createFolder()
    const { service, env } = await serveFake({ transactions: sampleTransactions(1000), latency: 100 })
    const isTerminal = ['--import', 'data:text/javascript,process.stderr.isTTY = true']
    const stopped = await run('export-csv.js', { env, folder, flags: isTerminal, interruptAt: /░ [1-9]/ })
    expect(stopped.code).toBe(130)
    expect(stopped.stderr).toMatch(/ left\nStopped at [1-9]\d* of 1,000\. Run it again: it continues\.\n$/)
    const { code, stderr } = await run('export-csv.js', { env, folder })
    expect(stderr).toMatch(/\nContinuing after [1-9]\d* transactions\n/)
    expect(stderr).toMatch(/█{20} 1,000 of 1,000, .*\n$/)
    expect(code).toBe(0)
    const lines = readFileSync(join(folder, 'transactions.csv'), 'utf8').trimEnd().split('\n')
    expect(lines.slice(1).map(line => line.split(',')[0])).toEqual(service.transactions.map(({ id }) => id))
  })

  test('leaves nothing that looks like a whole export when it fails', async () => {
    const transactions = sampleTransactions(250)
    // No amount, and on the second page.
    Object.assign(transactions[150] as object, { amount: 'much' })
    const folder = createFolder()
    const { env } = await serveFake({ transactions })
    const { code, stderr } = await run('export-csv.js', { env, folder })
    expect(code).toBe(1)
    expect(stderr).toContain('data[51].amount: expected a number')
    expect(readdirSync(folder)).not.toContain('transactions.csv')
  })
})
