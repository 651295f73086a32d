// @ts-check

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { Problem } from '../scaling/redis.js'

/** @typedef {import('virtual-accounts').VirtualAccountRef} VirtualAccountRef */

/**
 * The idempotency key of one intent: "deactivate this account, as this batch asks". It is the job's id as well.
 *
 * The same batch gives the same key however often it is run, so what was lost on the way is repeated and not done
 * anew. A later intent is another batch, and gets other keys. Hashed, because ids may hold what neither a header nor a
 * job's id may, and because 'a' + 'bc' must not be 'ab' + 'c'.
 *
 * @param {string} batch
 * @param {VirtualAccountRef} account
 */
export function keyOf(batch, { customerId, virtualAccountId }) {
  const intent = JSON.stringify(['deactivate', batch, customerId, virtualAccountId])
  return `${batch}-${createHash('sha256').update(intent).digest('hex').slice(0, 32)}`
}

/**
 * Those of a file, one JSON object a line, or some that are made up.
 *
 * @param {{ file?: string | undefined, count: number }} source
 * @returns {AsyncGenerator<VirtualAccountRef>}
 */
export async function* accountsOf({ file, count }) {
  if (file === undefined) {
    for (let number = 1; number <= count; number++) yield madeUp(number)
    return
  }
  let number = 0
  for await (const line of createInterface({ input: createReadStream(file) })) {
    number++
    if (line.trim() !== '') yield accountIn(line, `${file}, line ${number}`)
  }
}

/** @param {number} number */
export function madeUp(number) {
  return { customerId: `c${number % 100}`, virtualAccountId: `v${number}` }
}

/**
 * @param {string} line
 * @param {string} place
 */
function accountIn(line, place) {
  const { customerId, virtualAccountId } = parsed(line) ?? {}
  if (typeof customerId !== 'string' || typeof virtualAccountId !== 'string') {
    throw new Problem(`${place}: expected {"customerId":"…","virtualAccountId":"…"}`)
  }
  return { customerId, virtualAccountId }
}

/** @param {string} line */
function parsed(line) {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/**
 * In bunches, as one round trip to Redis can take a thousand jobs.
 *
 * @template T
 * @param {AsyncIterable<T>} items
 * @param {number} size
 */
export async function* bunches(items, size) {
  /** @type {T[]} */
  let bunch = []
  for await (const item of items) {
    bunch.push(item)
    if (bunch.length < size) continue
    yield bunch
    bunch = []
  }
  if (bunch.length > 0) yield bunch
}
