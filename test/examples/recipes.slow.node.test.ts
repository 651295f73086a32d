import { appendFileSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'virtual-accounts'
import { sampleTransactions } from 'virtual-accounts/testing'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { createFolder, run, serveFake } from './programs.ts'

// The programs that keep what they read, against a service that is as bad as it gets.

let folder: string
let fake: Awaited<ReturnType<typeof serveFake>>
beforeEach(async () => {
  folder = createFolder()
  fake = await serveFake({ transactions: sampleTransactions(250) })
})

const start = (program: string, killer?: AbortSignal) =>
  run(program, { env: fake.env, folder, ...(killer && { killer }) })
/** The cursor that a program has saved when it is killed at the end of the list. */
async function lastCursor(): Promise<string | undefined> {
  const { BASE_URL: baseUrl, API_KEY: apiKey } = fake.env
  let last: string | undefined
  for await (const { cursor } of new Client({ baseUrl, apiKey }).transactions.list({ limit: 100 }).batches())
    last = cursor
  return last
}
const ids = () => fake.service.transactions.map(({ id }) => id)

describe('sync-sqlite', () => {
  /** What the copy holds, as JSON text by id. */
  function stored(): Map<unknown, unknown> {
    const db = new DatabaseSync(join(folder, 'transactions.sqlite'))
    const rows = db.prepare('SELECT id, json FROM transactions').all()
    db.close()
    return new Map(rows.map(({ id, json }) => [id, json]))
  }
  const listed = () => new Map(fake.service.transactions.map(item => [item.id, JSON.stringify(item)]))
  const sync = async () => {
    const { code, stdout, stderr } = await start('sync-sqlite.js')
    return { code, said: stdout + stderr }
  }

  test('adds, replaces and deletes rows, and only those', async () => {
    expect(await sync()).toMatchObject({ code: 0, said: expect.stringContaining('250 transactions in ') })
    expect(stored()).toEqual(listed())
    fake.service.transactions.splice(20, 3, ...sampleTransactions(1, 9))
    Object.assign(fake.service.transactions[0]!, { description: 'changed' })
    expect(await sync()).toMatchObject({ code: 0 })
    expect(stored()).toEqual(listed())
  })

  test('deletes nothing when the list comes back empty, or nearly, and recovers', async () => {
    await sync()
    const before = stored()
    const all = fake.service.transactions.splice(0)
    expect(await sync()).toMatchObject({
      code: 1,
      said: expect.stringContaining('250 of 250 rows would be deleted, so nothing was.'),
    })
    fake.service.transactions.push(...all.slice(0, 3))
    expect(await sync()).toMatchObject({ code: 1 })
    expect(stored()).toEqual(before)
    fake.service.transactions.push(...all.slice(3))
    expect(await sync()).toMatchObject({ code: 0 })
    expect(stored()).toEqual(before)
  })

  test('its advice works after most of the list is gone, also when items were added at the beginning', async () => {
    await sync()
    fake.service.transactions.splice(100)
    const said = expect.stringContaining('If that is right, remove transactions.sqlite and run it again.')
    expect(await sync()).toMatchObject({ code: 1, said })
    fake.service.transactions.unshift(...sampleTransactions(3, 7))
    expect(await sync()).toMatchObject({ code: 1, said })
    rmSync(join(folder, 'transactions.sqlite'))
    expect(await sync()).toMatchObject({ code: 0 })
    expect(stored()).toEqual(listed())
  })

  test('starts over when it was killed at its end, and items were added at the beginning', async () => {
    await sync()
    const db = new DatabaseSync(join(folder, 'transactions.sqlite'))
    db.exec('INSERT INTO found SELECT * FROM transactions')
    db.prepare('INSERT INTO position VALUES (?)').run((await lastCursor()) as string)
    db.close()
    fake.service.transactions.unshift(...sampleTransactions(3, 7))
    const said = expect.stringMatching(/added-elsewhere.*Run it again/)
    expect(await sync()).toMatchObject({ code: 1, said })
    expect(await sync()).toMatchObject({ code: 0 })
    expect(stored()).toEqual(listed())
  })

  test('changes nothing when it is killed, and then resumes', async () => {
    fake = await serveFake({ transactions: sampleTransactions(250), latency: 200 })
    await sync()
    const before = stored()
    fake.service.transactions.splice(0, 10)
    const requests = fake.service.requests.length
    const killer = new AbortController()
    // Page 1 is saved before more are requested.
    const killed = start('sync-sqlite.js', killer.signal)
    await vi.waitFor(() => expect(fake.service.requests.length).toBeGreaterThan(requests + 1), {
      timeout: 20_000,
    })
    killer.abort()
    expect((await killed).code).toBe('SIGKILL')
    expect(stored()).toEqual(before)
    const resumed = fake.service.requests.length
    expect(await sync()).toMatchObject({ code: 0 })
    expect(stored()).toEqual(listed())
    expect(fake.service.requests[resumed]?.query.page).not.toBe('1')
  })
})

describe('new-transactions', () => {
  const file = () => join(folder, 'transactions.jsonl')
  const written = () =>
    readFileSync(file(), 'utf8')
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line).id as string)
  const add = async () => {
    const { code, stdout, stderr } = await start('new-transactions.js')
    return { code, said: (stdout + stderr).trimEnd() }
  }
  const added = (count: number) => ({
    code: 0,
    said: `Added ${count} transaction${count === 1 ? '' : 's'} to transactions.jsonl`,
  })

  test('adds each new transaction once', async () => {
    expect(await add()).toEqual(added(250))
    fake.service.transactions.unshift(...sampleTransactions(150, 7))
    expect(await add()).toEqual(added(150))
    expect(await add()).toEqual(added(0))
    expect(written().toSorted()).toEqual(ids().toSorted())
  })

  test('starts again after a crash, whatever it had written', async () => {
    await add()
    fake.service.transactions.unshift(...sampleTransactions(150, 7))
    appendFileSync(file(), `${JSON.stringify(fake.service.transactions[0])}\n{"id":"1`)
    expect(await add()).toEqual(added(150))
    expect(written().toSorted()).toEqual(ids().toSorted())
  })

  test('adds what is new, and nothing twice, when everything that its cursor named is gone', async () => {
    await add()
    const before = written()
    fake.service.transactions.splice(0, 220)
    const fresh = sampleTransactions(20, 11)
    fake.service.transactions.unshift(...fresh)
    expect(await add()).toEqual(added(20))
    expect(written()).toEqual([...before, ...fresh.map(({ id }) => id)])
  })

  test('leaves a file that was cut off as it is, and adds what is missing when its advice is followed', async () => {
    await add()
    const [gone] = fake.service.transactions.splice(0, 1)
    truncateSync(file(), 1000)
    expect(await add()).toMatchObject({ code: 1, said: expect.stringContaining('was cut off') })
    expect(readFileSync(file())).toHaveLength(1000)
    rmSync(`${file()}.json`)
    expect(await add()).toMatchObject({ code: 0 })
    expect(written().toSorted()).toEqual([gone?.id, ...ids()].toSorted())
  })
})

describe('export-csv', () => {
  const file = () => join(folder, 'transactions.csv')
  const exportCsv = () => start('export-csv.js')

  test('keeps a file when the list comes back empty, or far shorter, until it is removed as advised', async () => {
    await exportCsv()
    const before = readFileSync(file(), 'utf8')
    const all = fake.service.transactions.splice(0)
    for (const left of [[], all.slice(0, 100), all.slice(50, 150)]) {
      fake.service.transactions.splice(0, 100, ...left)
      const { code, stdout, stderr } = await exportCsv()
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toContain('If that is right, remove transactions.csv and run it again.')
      expect(readFileSync(file(), 'utf8')).toBe(before)
    }
    rmSync(file())
    expect(await exportCsv()).toMatchObject({
      code: 0,
      stdout: 'Wrote 100 transactions to transactions.csv\n',
    })
  })

  test('starts over when it was killed at its end, and items were added at the beginning', async () => {
    await exportCsv()
    renameSync(file(), `${file()}.part`)
    const bytes = readFileSync(`${file()}.part`).length
    writeFileSync(`${file()}.part.json`, JSON.stringify({ bytes, count: 250, cursor: await lastCursor() }))
    fake.service.transactions.unshift(...sampleTransactions(3, 7))
    const stderr = expect.stringMatching(/added-elsewhere.*Run it again/)
    expect(await exportCsv()).toMatchObject({ code: 1, stderr })
    expect(await exportCsv()).toMatchObject({
      code: 0,
      stdout: 'Wrote 253 transactions to transactions.csv\n',
    })
  })
})
