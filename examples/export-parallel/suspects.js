// @ts-check

/**
 * The pages to read again when a list grew while its pages were read side by side, few of them and in whatever order
 * the list is (the interface does not say whether new items come first or last).
 *
 * An item that is pushed along moves to later pages only. So it can have been missed only where a page was read before
 * the page ahead of it (it tells a smaller total): the item was still ahead when the later page was read, and already
 * behind when the earlier one was. Such a seam, and as many pages behind it as the list has grown by since, hold it
 * now. New items are looked for at both ends.
 *
 * @param {readonly number[]} totals what each page told, from page 1 on
 * @param {number} newest the total now
 * @param {number} limit
 * @returns {number[]} in order
 */
export function suspectPages(totals, newest, limit) {
  const pageCount = Math.ceil(newest / limit)
  /** @type {Set<number>} */
  const suspects = new Set()
  const suspect = (/** @type {number} */ from, /** @type {number} */ items) => {
    const last = Math.min(pageCount, from + Math.ceil(items / limit))
    for (let page = from; page <= last; page++) suspects.add(page)
  }

  const smallest = totals.reduce((least, total) => Math.min(least, total), newest)
  suspect(1, newest - smallest)
  totals.forEach((total, index) => {
    const behind = totals[index + 1]
    // The page with this index is `index + 1`, and the one behind it `index + 2`.
    if (behind !== undefined && behind < total) suspect(index + 2, newest - behind)
  })
  suspect(Math.max(1, totals.length), newest)
  return [...suspects].sort((one, other) => one - other)
}
