// @ts-check

import { fileOf, pagesIn, partsOf, writeWhole } from './parts.js'
import { suspectPages } from './suspects.js'

/** @typedef {import('./parts.js').StoredPage} StoredPage */

/**
 * Makes one file of all parts, with every transaction once, and reads again what the parts may have missed.
 *
 * @param {object} plan
 * @param {(page: number) => Promise<StoredPage>} plan.read
 * @param {string} plan.folder of the parts
 * @param {string} plan.output
 * @param {number} plan.totalItems as page 1 told it before the parts were read
 * @param {number} plan.limit
 * @param {number} plan.pagesInPart
 * @returns {Promise<{ items: number, before: number, after: number, readAgain: number, outcome: Outcome }>}
 *
 * @typedef {'complete' | 'shrank' | 'still changing'} Outcome
 */
export async function joinParts({ read, folder, output, totalItems: before, limit, pagesInPart }) {
  const parts = partsOf(Math.max(1, Math.ceil(before / limit)), pagesInPart)
  // Every id in memory: some 100 bytes each, and a Set holds 16 million at most. docs/scaling.md tells of more.
  /** @type {Set<string>} */
  const ids = new Set()
  /** @type {number[]} */
  const totals = []
  let after = before
  let readAgain = 0
  /** @type {Outcome} */
  let outcome = 'still changing'

  await writeWhole(output, async write => {
    /** @param {StoredPage} page */
    async function take({ page, totalItems, data }) {
      const fresh = data.filter(({ id }) => !ids.has(id) && ids.add(id))
      if (fresh.length > 0) await write(fresh.map(item => `${JSON.stringify(item)}\n`).join(''))
      totals[page - 1] = totalItems
      after = totalItems
    }

    for (const part of parts) for await (const page of pagesIn(fileOf(folder, part))) await take(page)
    const readFirst = [...totals]

    for (let round = 0; round < 5; round++) {
      await take(await read(1))
      readAgain++
      if (ids.size > after || after < before || totals.some(total => total > after)) {
        outcome = 'shrank'
        return
      }
      if (ids.size === after) {
        outcome = 'complete'
        return
      }
      const newest = after
      // First where they must be if items were only added; then wherever a page is of an older state.
      const pages = round === 0 ? suspectPages(readFirst, newest, limit) : olderPages(totals, newest, limit)
      for (const page of pages) {
        await take(await read(page))
        readAgain++
        if (ids.size === after) break
      }
    }
  })
  return { items: ids.size, before, after, readAgain, outcome }
}

/**
 * @param {readonly number[]} totals
 * @param {number} newest
 * @param {number} limit
 */
function olderPages(totals, newest, limit) {
  const pages = Array.from({ length: Math.ceil(newest / limit) }, (_, index) => index + 1)
  return pages.filter(page => totals[page - 1] !== newest)
}
