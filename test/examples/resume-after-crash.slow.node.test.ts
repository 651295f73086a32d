import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, test } from 'vitest'
import { createFolder, kill, ofFake, run, serveFake, startUntil } from './programs.ts'

describe('resume-after-crash', () => {
  const idsWritten = (folder: string) =>
    readFileSync(join(folder, 'import/transactions.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .map(line => (JSON.parse(line) as { id: string }).id)

  const killInTheMiddle = async (env: Record<string, string>, folder: string, line = /█/) => {
    const { child } = await startUntil(line, 'resume-after-crash.js', env, folder, 'stderr')
    await kill(child)
  }

  test('writes every transaction once, however often it is killed', async () => {
    const folder = createFolder()
    const { service, env } = await serveFake({ transactions: sampleTransactions(1000), latency: 100 })
    for (let time = 1; time <= 3; time++) await killInTheMiddle(env, folder)
    expect(idsWritten(folder).length).toBeLessThan(1000)
    const { code, stdout } = await run('resume-after-crash.js', { env, folder })
    expect(code).toBe(0)
    expect(stdout).toMatch(/\nContinuing after \d+ transactions, at page (?!1\n)/)
    expect(idsWritten(folder)).toEqual(service.transactions.map(({ id }) => id))
  })

  test('says that nothing is new where all is there', async () => {
    const folder = createFolder()
    const { env } = await serveFake({ transactions: sampleTransactions(30) })
    const first = await run('resume-after-crash.js', { env, folder })
    expect(first.stdout).not.toContain('Continuing')
    expect(first.stdout).toMatch(/\nDone: 30 transactions in import\/, each once\n$/)
    const again = await run('resume-after-crash.js', { env, folder })
    expect(again).toMatchObject({ code: 0, stderr: '' })
    expect(again.stdout).not.toContain('Ctrl-C')
    expect(again.stdout).toMatch(/\nNothing new: 30 transactions in import\/, each once\n$/)
  })

  test('ends where its folder cannot be made', async () => {
    const folder = createFolder()
    writeFileSync(join(folder, 'import'), '')
    const isFile = await run('resume-after-crash.js', { env: ofFake, folder })
    expect(isFile.code).toBe(1)
    expect(isFile.stderr).toMatch(/^ENOTDIR: .*\n$/)
    const isNowhere = await run('resume-after-crash.js', { env: ofFake, args: ['/proc/x'], folder })
    expect(isNowhere.code).toBe(1)
    expect(isNowhere.stderr).toMatch(/^ENOENT: .*\n$/)
  })

  test('writes again what was half written when it was killed', async () => {
    const folder = createFolder()
    const { service, env } = await serveFake({ transactions: sampleTransactions(100), latency: 100 })
    await killInTheMiddle(env, folder)
    const id = service.transactions.at(-1)?.id
    appendFileSync(join(folder, 'import/transactions.jsonl'), `{"id":"${id}"}\n{"id":"12`)
    const { code } = await run('resume-after-crash.js', { env, folder })
    expect(code).toBe(0)
    expect(idsWritten(folder)).toEqual(service.transactions.map(({ id }) => id))
  })

  test.each([
    ['a different total', 21, 1],
    ['the same total, so no page shows it', 30, 30],
  ])(
    'resumes correctly after transactions were added and removed while it was down: %s',
    async (_what, gone, come) => {
      const folder = createFolder()
      const { service, env } = await serveFake({ transactions: sampleTransactions(200), latency: 30 })
      await killInTheMiddle(env, folder, / 100 of 200,/)
      const before = idsWritten(folder)
      service.transactions.splice(0, gone)
      service.transactions.push(
        ...sampleTransactions(come, 7).map(transaction => ({ ...transaction, id: `new-${transaction.id}` })),
      )
      const { code } = await run('resume-after-crash.js', { env, folder })
      expect(code).toBe(0)
      const after = idsWritten(folder)
      expect(after.slice(0, before.length)).toEqual(before)
      expect(new Set(after).size).toBe(after.length)
      expect(after).toEqual(expect.arrayContaining(service.transactions.map(({ id }) => id)))
    },
  )
})
