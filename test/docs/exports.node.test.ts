import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import * as fsPromises from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sampleTransactions } from 'virtual-accounts/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { failPages, printed, run, service } from './guide.ts'
import { snippet } from './snippets.ts'

// exports.md: its program for a file, in this process, with files in a folder of their own.

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'virtual-accounts-export-'))
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

const linesOf = (file: string) => readFileSync(join(folder, file), 'utf8').trimEnd().split('\n')
const ids = () => service.transactions.map(({ id }) => id)

/** Runs a whole program while another waits for page 3. */
function meanwhile(program: () => Promise<unknown>): void {
  vi.stubGlobal('fetch', async (...[url, init]: Parameters<typeof service.fetch>) => {
    if (new URL(String(url)).searchParams.get('page') === '3') {
      vi.stubGlobal('fetch', service.fetch)
      await program()
    }
    return service.fetch(url, init)
  })
}

describe('to a file', () => {
  const code = snippet('exports.md', 'To a file')
  const written = () => linesOf('transactions.jsonl').map(line => JSON.parse(line).id as string)
  const within = (name: string) => join(folder, name)

  /** Runs the program, and closes what it has left open when it failed. */
  async function exportAll(program = code): Promise<string> {
    const files: fsPromises.FileHandle[] = []
    const { open, readFile, rename, writeFile } = fsPromises
    const fs = {
      open: async (name: string, flags: string) => {
        const file = await open(within(name), flags)
        files.push(file)
        return file
      },
      readFile: (name: string, encoding: 'utf8') => readFile(within(name), encoding),
      writeFile: (name: string, text: string, options: object) => writeFile(within(name), text, options),
      rename: (from: string, to: string) => rename(within(from), within(to)),
    }
    const failure = await run(program, { 'node:fs/promises': () => fs }).then(() => '', String)
    for (const file of files) await file.close()
    return failure
  }

  test('writes every transaction once, and what is added later', async () => {
    expect(await exportAll()).toBe('')
    expect(written()).toEqual(ids())
    expect(printed().at(-1)).toBe('250 of 250')
    service.transactions.push(...sampleTransactions(30, 7))
    expect(await exportAll()).toBe('')
    expect(written()).toEqual(ids())
  })

  test('continues after a crash, although the list has changed and a line was cut off', async () => {
    const restore = failPages(403, page => page === 3)
    expect(await exportAll()).toContain('HTTP 403')
    restore()
    const before = written()
    expect(before.length).toBeGreaterThan(90)
    expect(before.length).toBeLessThan(250)
    await fsPromises.appendFile(within('transactions.jsonl'), '{"id":"1')
    service.transactions.splice(0, 30)
    service.transactions.push(...sampleTransactions(30, 7))
    expect(await exportAll()).toBe('')
    expect(written().slice(0, before.length)).toEqual(before)
    expect(new Set(written()).size).toBe(written().length)
    expect(written()).toEqual(expect.arrayContaining(ids()))
  })

  test('fails when the file was cut off, and adds nothing', async () => {
    await exportAll()
    await fsPromises.truncate(within('transactions.jsonl'), 100)
    expect(await exportAll()).toContain('The file was cut off.')
  })

  test('does not empty a file that is there without its position', async () => {
    await exportAll()
    rmSync(within('position.json'))
    expect(await exportAll()).toContain('There is no position.json.')
    expect(written()).toEqual(ids())
  })

  test('fails unless the end event says that the export is complete', async () => {
    const incomplete = code.replace('verified: true', 'verified: false')
    expect(incomplete).not.toBe(code)
    expect(await exportAll(incomplete)).toContain('Not complete: verified-false')
  })

  test('stops when it is run twice at once, and writes nothing twice', async () => {
    meanwhile(async () => {
      // The first waits for page 3 now.
      await vi.waitFor(() => expect(printed()).toHaveLength(2), 5_000)
      await exportAll()
    })
    expect(await exportAll()).toContain('Another program writes to the file.')
    expect(written()).toEqual(ids())
  })
})
