import { useEffect, useState } from 'react'
import type { Transaction } from 'virtual-accounts'
import { money } from './format.ts'

/** The text that a filter searches: every column, with amounts as displayed (4,841,890.00) and as plain digits. */
export function searchText({ id, amount, currency, description }: Transaction): string {
  return `${description}\n${currency}\n${id}\n${money(amount, currency)}\n${amount}`.toLowerCase()
}

/** A filter, normalized like `searchText`. */
export function normalized(filter: string): string {
  return filter.trim().toLowerCase()
}

/** Whether a text of `searchText` has every word of a normalized filter. */
export function hasEvery(wanted: string): (text: string) => boolean {
  const words = wanted.split(/\s+/)
  return text => words.every(word => text.includes(word))
}

interface Matches {
  readonly texts: readonly string[]
  readonly wanted: string
  /** Indexes of the transactions that match. */
  readonly indexes: readonly number[]
  /** How many transactions were searched. */
  readonly searched: number
}

const none: Matches = { texts: [], wanted: '', indexes: [], searched: 0 }
const sliceMs = 6

/**
 * The indexes of the matching texts, or `undefined` for an empty filter. If `texts` grows, only the
 * new part is searched. The search runs in slices of a few milliseconds, so typing stays fast in long lists. Until it is
 * complete, the previous result is returned.
 */
export function useMatches(
  texts: readonly string[],
  count: number,
  filter: string,
): readonly number[] | undefined {
  const wanted = normalized(filter)
  const [matches, setMatches] = useState(none)

  useEffect(() => {
    if (wanted === '') return
    const continues = matches.texts === texts && matches.wanted === wanted
    if (continues && matches.searched === count) return
    let cancelled = false
    void search(texts, count, wanted, continues ? matches : none, () => cancelled).then(
      found => found && setMatches(found),
    )
    return () => {
      cancelled = true
    }
  }, [texts, count, wanted, matches])

  return wanted === '' ? undefined : matches.indexes
}

async function search(
  texts: readonly string[],
  count: number,
  wanted: string,
  before: Matches,
  isCancelled: () => boolean,
): Promise<Matches | undefined> {
  const isMatch = hasEvery(wanted)
  const indexes = [...before.indexes]
  let index = before.searched
  while (index < count) {
    // Lets the browser paint after the keystroke and between slices.
    await new Promise(resolve => setTimeout(resolve))
    if (isCancelled()) return undefined
    const end = performance.now() + sliceMs
    while (index < count && performance.now() < end) {
      for (const sliceEnd = Math.min(index + 500, count); index < sliceEnd; index++) {
        if (isMatch(texts[index] ?? '')) indexes.push(index)
      }
    }
  }
  return { texts, wanted, indexes, searched: count }
}
