import type { IncompleteReason } from '../events.js'
import { wrongArgument } from '../internal/describe.js'
import type { Key, RememberedKeys } from './known-items.js'

/** Where a walk stands. */
export interface Position {
  /** The limit in effect. */
  readonly limit: number
  /** After the last item read, in the list. */
  readonly end: number
  /** How many items were read, with those before the first page. */
  readonly count: number
  readonly total: number
  /** Why what was read is not proven to be complete. */
  readonly gap: IncompleteReason | undefined
}

/** What a cursor says: a position, and the hashes of the keys of the last items before it. */
export interface Bookmark extends Position {
  readonly keys: RememberedKeys<string>
}

const version = 'va1'
const keyLength = 11

/** A cursor: version, position, hashes of the keys, and a checksum that covers the list, too. About 1.2 kB of ASCII. */
export function writeCursor({ limit, end, count, total, gap, keys }: Bookmark, list: string): string {
  const header = [limit, end, count, total, keys.others.length, gap].join('_')
  const hashes = [...keys.others, ...keys.chain].join('')
  const text = `${version}.${header}.${hashes}`
  return `${text}.${hash(text)}${hash(list)}`
}

/** Reads a cursor. Throws for one that is damaged, or does not belong to the list. */
export function readCursor(cursor: unknown, list: string): Bookmark {
  if (typeof cursor !== 'string')
    throw wrongArgument('after', 'a cursor, from `batch.cursor` or `error.cursor`', cursor)
  const dot = cursor.lastIndexOf('.')
  const text = cursor.slice(0, dot)
  const sums = cursor.slice(dot + 1)
  const [written = '', header = '', hashes = ''] = text.split('.')
  if (/^va\d{1,5}$/.test(written) && written !== version) {
    throw new TypeError(
      `after: this cursor was written by another version of this package (${written}, not ${version}): start over without \`after\``,
    )
  }
  if (sums.slice(0, keyLength) !== hash(text) || sums.length !== 2 * keyLength)
    throw new TypeError('after: expected a cursor as it was given, got a damaged one (was it cut off?)')
  if (sums.slice(keyLength) !== hash(list)) {
    throw new TypeError(
      'after: this cursor belongs to another list, or to other filters: pass the path and the `query` that it was read with',
    )
  }
  const [limit = 0, end = 0, count = 0, total = 0, otherCount = 0] = header.split('_').map(Number)
  const gap = header.slice(header.lastIndexOf('_') + 1) || undefined
  const all = hashes.match(/.{11}/g) ?? []
  const keys = { others: all.slice(0, otherCount), chain: all.slice(otherCount) }
  return { limit, end, count, total, gap: gap as Position['gap'], keys }
}

/** Identifies a list: its path, and its filters in any order. */
export function identifyList(path: string, query: string): string {
  return `${path}?${query.split('&').sort().join('&')}`
}

/** An item's key as a cursor holds it, and as a walk that goes on after one knows it. The number 1 and the string '1' differ. */
export function hashKey(key: Key): string {
  return hash(`${typeof key} ${key}`)
}

/** Two 32-bit hashes, of which 53 bits are kept, as 11 letters and digits. They detect damage, not forgery. */
function hash(text: string): string {
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    high = Math.imul(high ^ unit, 0x9e3779b1)
    low = Math.imul(low ^ unit, 0x5f356495)
  }
  high = Math.imul(high ^ (high >>> 16) ^ low, 0x85ebca6b)
  low = Math.imul(low ^ (low >>> 13) ^ high, 0xc2b2ae35)
  const bits = ((high ^ (high >>> 15)) & 0x1fffff) * 2 ** 32 + ((low ^ (low >>> 16)) >>> 0)
  return bits.toString(36).padStart(keyLength, '0')
}
