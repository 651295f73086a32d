// @ts-check
// Parts of an export on disk. A part is a range of pages, one page a line, with the total that the page told: when the
// list changes meanwhile, that says which pages are of which state of it.

import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/**
 * @typedef {object} StoredPage
 * @property {number} page
 * @property {number} totalItems
 * @property {import('virtual-accounts').Transaction[]} data
 */

/**
 * @param {number} pageCount
 * @param {number} pagesInPart
 */
export function partsOf(pageCount, pagesInPart) {
  return Array.from({ length: Math.ceil(pageCount / pagesInPart) }, (_, index) => ({
    from: index * pagesInPart + 1,
    to: Math.min((index + 1) * pagesInPart, pageCount),
  }))
}

/**
 * Whole or not at all, whenever the process is killed: a file of this name has everything. Two workers that write the
 * same file do no harm, as each writes one of its own first.
 *
 * @param {string} file
 * @param {(write: (text: string) => Promise<void>) => Promise<void>} fill
 */
export async function writeWhole(file, fill) {
  const temporary = `${file}.${randomUUID()}.tmp`
  const handle = await open(temporary, 'w')
  try {
    await fill(async text => void (await handle.appendFile(text)))
    // Else a power cut may leave a file that has its name but not its content.
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(temporary, file)
}

/**
 * @param {string} folder
 * @param {{ from: number }} part
 */
export function fileOf(folder, { from }) {
  return join(folder, `pages-${String(from).padStart(9, '0')}.ndjson`)
}

/**
 * @param {string} file
 * @returns {AsyncGenerator<StoredPage>}
 */
export async function* pagesIn(file) {
  for await (const line of createInterface({ input: createReadStream(file) })) yield JSON.parse(line)
}
