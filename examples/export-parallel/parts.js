// @ts-check
// Parts of an export on disk: each a file, with one transaction per line.

import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

/** @typedef {import('virtual-accounts').Transaction} Transaction */

/**
 * Ranges of pages. Each ends with the first page of the part after it, and so has items in common with it: join.js needs
 * them.
 *
 * @typedef {object} Part
 * @property {number} page the first
 * @property {number | undefined} maxItems undefined: to the end of the list, wherever that is by then
 *
 * @param {number} pageCount
 * @param {number} pagesInPart
 * @param {number} limit
 * @returns {Part[]}
 */
export function partsOf(pageCount, pagesInPart, limit) {
  const count = Math.max(1, Math.ceil(pageCount / pagesInPart))
  return Array.from({ length: count }, (_, index) => ({
    page: index * pagesInPart + 1,
    maxItems: index === count - 1 ? undefined : (pagesInPart + 1) * limit,
  }))
}

/**
 * Whole or not at all, whenever the process is killed: a file of this name has everything. Two workers that write the
 * same file do no harm, as each writes one of its own first.
 *
 * @param {string} file
 * @param {AsyncIterable<Transaction>} items
 */
export async function writeWhole(file, items) {
  const temporary = `${file}.${randomUUID()}.tmp`
  // Without the flush a power cut may leave a file that has its name but not its content.
  await pipeline(items, lines, createWriteStream(temporary, { flush: true }))
  await rename(temporary, file)
}

/**
 * Without U+2028 and U+2029, which also end a line for Node's `readLines`.
 *
 * @param {AsyncIterable<Transaction>} items
 */
async function* lines(items) {
  for await (const item of items) {
    const json = JSON.stringify(item).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
    yield `${json}\n`
  }
}

/**
 * @param {string} folder
 * @param {Part} part
 */
export function fileOf(folder, { page }) {
  return join(folder, `from-page-${String(page).padStart(9, '0')}.ndjson`)
}

/**
 * @param {string} file
 * @returns {AsyncGenerator<Transaction>}
 */
export async function* itemsIn(file) {
  const handle = await open(file)
  for await (const line of handle.readLines()) yield JSON.parse(line)
}
