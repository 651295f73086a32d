// @ts-check

import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { Problem } from '../terminal.js'

/** @typedef {import('virtual-accounts').VirtualAccountRef} VirtualAccountRef */

/**
 * The idempotency key of one intent: "deactivate this account, as this batch says". It is also the job's id.
 *
 * The same batch gives the same key however often it is run, so a request whose response was lost is repeated, not made
 * a second time. A later intent is another batch, and gets other keys. Hashed, because ids may hold what neither a
 * header nor a job's id may, and because 'a' + 'bc' must not be 'ab' + 'c'.
 *
 * @param {string} batch
 * @param {VirtualAccountRef} account
 */
export function keyOf(batch, { customerId, virtualAccountId }) {
  const intent = JSON.stringify(['deactivate', batch, customerId, virtualAccountId])
  return `${batch}-${createHash('sha256').update(intent).digest('hex').slice(0, 32)}`
}

/**
 * The accounts of a file, one JSON object per line, or some that are made up.
 *
 * @param {{ file?: string | undefined, count: number }} source
 * @returns {AsyncGenerator<VirtualAccountRef>}
 */
export async function* accountsOf({ file, count }) {
  if (file === undefined) {
    for (let number = 1; number <= count; number++) yield madeUp(number)
    return
  }
  // An error of the stream would not end the loop.
  const handle = await open(file)
  let number = 0
  for await (const line of handle.readLines()) {
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
    throw new Problem(`${place}: expected {"customerId":"…","virtualAccountId":"…"}.`)
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

/** @param {VirtualAccountRef} account */
export function pathOf({ customerId, virtualAccountId }) {
  return `/customers/${encodeURIComponent(customerId)}/virtual_accounts/${encodeURIComponent(virtualAccountId)}`
}
