import type { Transaction } from '../index.js'
import { wholeNumber } from '../internal/arguments.js'
import { describe } from '../internal/describe.js'

/**
 * Generates `count` plausible transactions. The same seed gives the same ones in every runtime.
 *
 * Ids are unique strings of 23 digits. Amounts are positive, with at most two decimals (none for JPY). A larger count starts
 * with the same transactions: `sampleTransactions(20).slice(0, 10)` equals `sampleTransactions(10)`.
 *
 * @param count Number of transactions, at least 0.
 * @param seed A whole number, 1 by default. Different seeds from 0 to 4294967295 give different transactions.
 * @throws TypeError for a wrong count or seed.
 */
export function sampleTransactions(count: number, seed = 1): Transaction[] {
  wholeNumber(0)('count', count)
  if (!Number.isSafeInteger(seed)) {
    throw new TypeError(`seed: expected a whole number, got ${describe(seed)}`)
  }
  const random = mulberry32(seed)
  return Array.from({ length: count }, (_, index) => transaction(index, random))
}

type Random = () => number

const currencies = ['AED', 'USD', 'EUR', 'GBP', 'JPY', 'CHF', 'SGD']

function transaction(index: number, random: Random): Transaction {
  const currency = pick(currencies, random)
  return {
    id: id(index, random),
    amount: amount(currency, random),
    currency,
    description: description(random),
  }
}

function id(index: number, random: Random): string {
  const beginning = 1_000_000 + below(9_000_000, random)
  const middle = String(below(10_000_000, random)).padStart(7, '0')
  // Unique for each index up to a billion, because the factor and a billion are coprime.
  const ending = String((index * 7_654_321 + 382_904_834) % 1_000_000_000).padStart(9, '0')
  return `${beginning}${middle}${ending}`
}

/** Small amounts are more frequent. Whole cents give at most two decimals. */
function amount(currency: string, random: Random): number {
  const cents = 1 + below(pick([5_000, 20_000, 100_000, 5_000_000], random), random)
  return currency === 'JPY' ? cents : cents / 100
}

function description(random: Random): string {
  const [text, numbered] = pick(descriptions, random)
  return numbered ? `${text} ${10_000 + below(90_000, random)}` : text
}

const descriptions: readonly (readonly [text: string, numbered: boolean])[] = [
  ['Invoice', true],
  ['Order', true],
  ['Refund for order', true],
  ['Card payment', true],
  ['Payout', true],
  ['Salary', false],
  ['Rent', false],
  ['Top-up', false],
  ['Subscription', false],
  ['Café München', false],
]

function below(limit: number, random: Random): number {
  return Math.floor(random() * limit)
}

function pick<T>(from: readonly T[], random: Random): T {
  return from[below(from.length, random)]!
}

/** Tommy Ettinger's mulberry32, in [0, 1). Integer operations give the same result in every engine. */
function mulberry32(seed: number): Random {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
