// @ts-check

import { fileOf, itemsIn, partsOf, writeWhole } from './parts.js'

/** @typedef {import('virtual-accounts').Transaction} Transaction */

/**
 * Makes one file of all parts, in the order of the list, with every transaction once.
 *
 * A part is a run: a verified walk has missed nothing between its first item and its last. Two runs that have an item
 * in common are one run, as what follows that item follows it in both. So the file is one run from the first item of
 * the list to its last when each part has an item in common with those before it. Where one has not, because more was
 * removed than the parts overlap by, the list is read again from further ahead until it does: at the latest from page
 * 1, which nothing comes before.
 *
 * @param {object} plan
 * @param {(page: number) => AsyncIterable<Transaction>} plan.walk verified, from that page to the end of the list
 * @param {string} plan.folder of the parts
 * @param {string} plan.output
 * @param {number} plan.pageCount
 * @param {number} plan.limit
 * @param {number} plan.pagesInPart
 * @returns {Promise<{ items: number, overlaps: number, readAgain: number }>}
 */
export async function joinParts({ walk, folder, output, pageCount, limit, pagesInPart }) {
  const [first, ...others] = partsOf(pageCount, pagesInPart, limit)
  // Every id in memory: some 100 bytes each, and a Set holds 16 million at most. docs/scaling.md tells of more.
  /** @type {Set<string>} */
  const ids = new Set()
  let readAgain = 0

  /** @param {AsyncIterable<Transaction> | Iterable<Transaction>} items */
  async function* fresh(items) {
    for await (const item of items) {
      if (ids.has(item.id)) continue
      ids.add(item.id)
      yield item
    }
  }

  async function* all() {
    if (first) yield* fresh(itemsIn(fileOf(folder, first)))
    for (const part of others) {
      /** @type {Transaction[]} */
      const items = []
      for await (const item of itemsIn(fileOf(folder, part))) items.push(item)
      if (!items.some(({ id }) => ids.has(id))) {
        readAgain++
        yield* fresh(await gapBefore(part.page, new Set(items.map(({ id }) => id))))
      }
      yield* fresh(items)
    }
  }

  /**
   * What is between the items so far and the part that begins with `page`.
   *
   * @param {number} page
   * @param {ReadonlySet<string>} idsOfPart
   */
  async function gapBefore(page, idsOfPart) {
    for (let back = 1; ; back *= 2) {
      const from = Math.max(1, page - back)
      const gap = []
      for await (const item of walk(from)) {
        gap.push(item)
        if (idsOfPart.has(item.id)) break
      }
      if (from === 1 || gap.some(({ id }) => ids.has(id))) return gap
    }
  }

  await writeWhole(output, all())
  return { items: ids.size, overlaps: others.length, readAgain }
}
