// One of several: reads parts of the list, and joins them at the end. run.js starts it.

import { existsSync } from 'node:fs'
import { Client } from 'virtual-accounts'
import { holdBack, requestedDelay, work } from '../scaling/worker.js'
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

/** A verified walk misses nothing between its first item and its last. */
async function readPart({ folder, limit, page, maxItems }) {
  const file = fileOf(folder, { page })
  // A worker may be killed after the last line and before it could say so.
  if (!existsSync(file)) await writeWhole(file, walk(page, limit, maxItems))
}

async function join(plan) {
  const joined = await joinParts({ ...plan, walk: page => walk(page, plan.limit) })
  const { totalItems } = await client.transactions.list({ limit: plan.limit })
  return { ...joined, totalItems }
}

function walk(page, limit, maxItems) {
  // The jobs are what runs in parallel.
  return client.transactions.list({ page, limit }, { verified: true, maxItems, concurrency: 1 })
}

/** When one worker is told to wait, all of them do. */
async function obeyDelay(event) {
  if (event.type !== 'retry') return
  const delayMs = requestedDelay(event.error)
  if (delayMs !== undefined) await holdBack(queue, delayMs)
}
