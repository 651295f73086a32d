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

export const deliberateBugs: readonly DeliberateBug[] = [
  {
    name: 'a short page ends the walk',
    file: 'src/walk.ts',
    find: 'if (page * limit < totalItems) return false',
    replace:
      'if (data.length < limit) { this.#received = totalItems; return true }\n    if (page * limit < totalItems) return false',
    family: 'wrong totals',
    mode: 'default',
  },
  {
    name: 'ids are forgotten after a page',
    file: 'src/walk.ts',
    find: 'return this.#keys.get(key) ?? this.#olderKeys.get(key)',
    replace:
      'const seen = this.#keys.get(key)\n    return seen && seen.page >= (this.#previous?.page.page ?? 0) ? seen : undefined',
    family: 'bulk changes',
    mode: 'default',
  },
  {
    name: 'a page that was prefetched before a shift is trusted',
    file: 'src/walk.ts',
    find: 'return isOlder && !this.#isOver ? this.#ahead.again(page) : arrived',
    replace: 'return arrived',
    family: 'grows anywhere',
    mode: 'default',
  },
]
