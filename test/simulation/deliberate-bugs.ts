/** A bug that the simulator has to find: a change of one file of the source. */
export interface DeliberateBug {
  readonly name: string
  /** From the root of the project. */
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly find: string
  readonly replace: string
  /** Where it shows: walks of this family, in this mode, break a promise. */
  readonly family: string
  readonly mode: 'default' | 'verified'
}

const paginator = { file: 'src/pagination/paginator.ts', mode: 'default' } as const
const verifiedPaginator = { file: 'src/pagination/verified-paginator.ts', mode: 'verified' } as const

export const deliberateBugs: readonly DeliberateBug[] = [
  {
    ...paginator,
    name: 'a short page ends the walk',
    find: 'if (this.#remaining <= 0 || data.length === 0) return true',
    replace:
      'if (data.length < limit) { this.#position = totalItems; return true }\n    if (this.#remaining <= 0 || data.length === 0) return true',
    family: 'late totals',
  },
  {
    name: 'ids are forgotten after two pages',
    file: 'src/pagination/item-memory.ts',
    find: 'if (this.#recentPages >= minPages && this.#recent.size >= minItems) {',
    replace: 'if (this.#recentPages >= 1) {',
    family: 'bulk changes',
    mode: 'default',
  },
  {
    ...paginator,
    name: 'a prefetched page is trusted although it shows an older state than the page before it',
    find: 'if (fetched.page.totalItems >= previous.page.totalItems && overlap === undefined) return fetched',
    replace: 'if (overlap === undefined) return fetched',
    family: 'grows anywhere',
  },
  {
    ...paginator,
    name: 'prefetched pages are trusted after an item was repeated although the list did not grow',
    find: 'if (hasMoved) this.#dropPagesRequestedBefore(fetched)',
    replace: '',
    family: 'many swaps',
  },
  {
    ...paginator,
    name: 'items of a dropped page that do not appear again are not counted',
    find: 'const missing = this.#dropped.takeMissing(this.#position, this.#largestTotal, isEnd)',
    replace: 'const missing = 0',
    family: 'many swaps',
  },
  {
    ...verifiedPaginator,
    name: 'windows begin one position too late to overlap',
    find: 'const page = Math.floor((end - 1) / limit) + 1',
    replace: 'const page = Math.floor(end / limit) + 1',
    family: 'unchanged',
  },
  {
    ...verifiedPaginator,
    name: 'a smaller limit that was not honoured is not noticed',
    find: 'if (limit !== window.limit) {',
    replace: 'if (false) {',
    family: 'smaller limits ignored',
  },
  {
    ...verifiedPaginator,
    name: 'the total ends a verified walk',
    find: 'if (this.#remaining <= 0 || (!isFull && totalItems <= end)) {',
    replace: 'if (this.#remaining <= 0 || totalItems <= end) {',
    family: 'wrong totals',
  },
  {
    ...verifiedPaginator,
    name: 'page 1 is accepted as the beginning of a walk that began later',
    find: 'page === 1 && this.#options.firstPage === 1 &&',
    replace: 'page === 1 &&',
    family: 'begins at a later page, bulk removals',
  },
]
