// One of several: reads parts of the list, and joins them at the end. run.js starts it.

import { existsSync } from 'node:fs'
import { Client } from 'virtual-accounts'
import { holdBack, RetryableError, requestedDelay, work } from '../scaling/worker.js'
import { joinParts } from './join.js'
import { fileOf, writeWhole } from './parts.js'

const client = new Client({
  baseUrl: process.env.BASE_URL,
  apiKey: process.env.API_KEY,
  // Unlike a write, a job here is many requests: one that fails must not throw away the pages before it.
  maxRetries: 2,
  onEvent: obeyDelay,
})

const queue = work(job => (job.name === 'join' ? join(job.data) : readPart(job.data)))

async function readPart({ folder, limit, ...part }) {
  const file = fileOf(folder, part)
  // A worker may be killed after the last line and before it could say so.
  if (!existsSync(file)) await writeWhole(file, itemsOfPart(part, limit))
}

/**
 * The transactions of a part, with none missing between the first and the last.
 *
 * A verified walk goes back when much was removed. If it goes back beyond its own first page, it also counts items of the
 * part before it, and stops too early. Then the part is read again, from where its page begins now.
 */
async function* itemsOfPart({ page, maxItems }, limit) {
  let hasStayedInPart = true
  const watched = client.withOptions({
    onEvent(event) {
      if (event.type === 'request') hasStayedInPart &&= positionOf(event.url) >= (page - 1) * limit
      return obeyDelay(event)
    },
  })
  yield* walk(watched, page, limit, maxItems)
  if (!hasStayedInPart)
    throw new RetryableError(`so much was removed that the part from page ${page} has moved`)
}

async function join(plan) {
  const joined = await joinParts({ ...plan, walk: page => walk(client, page, plan.limit) })
  const { totalItems } = await client.transactions.list({ limit: plan.limit })
  return { ...joined, totalItems }
}

function walk(client, page, limit, maxItems) {
  // The jobs are what runs in parallel.
  return client.transactions.list({ page, limit }, { verified: true, maxItems, concurrency: 1 })
}

/** When one worker is told to wait, all of them do. */
async function obeyDelay(event) {
  if (event.type !== 'retry') return
  const delayMs = requestedDelay(event.error)
  if (delayMs !== undefined) await holdBack(queue, delayMs)
}

/** Of the first item of a page in the list. */
function positionOf(url) {
  const { searchParams } = new URL(url)
  return (searchParams.get('page') - 1) * searchParams.get('limit')
}
