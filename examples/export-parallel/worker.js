// One of several: reads ranges of pages, and joins them at the end. run.js starts it.

import { existsSync } from 'node:fs'
import { Client } from 'virtual-accounts'
import { UnrecoverableError } from '../scaling/bullmq/index.js'
import { askedWait, holdBack, work } from '../scaling/worker.js'
import { joinParts } from './join.js'
import { fileOf, writeWhole } from './parts.js'

const client = new Client({
  baseUrl: process.env.BASE_URL,
  apiKey: process.env.API_KEY,
  // Unlike a write, a job here is many calls: one bad answer must not throw away the nine good pages before it.
  maxRetries: 2,
  // What one call is told to wait, all wait.
  async onEvent(event) {
    if (event.type !== 'retry') return
    const waitMs = askedWait(event.error)
    if (waitMs !== undefined) await holdBack(queue, waitMs)
  },
})

const queue = work(job => (job.name === 'join' ? join(job.data) : readPart(job.data)))

async function readPart(part) {
  const file = fileOf(part.folder, part)
  // A worker that was killed after the last line and before it could say so.
  if (existsSync(file)) return
  await writeWhole(file, async write => {
    for (let page = part.from; page <= part.to; page++) {
      await write(`${JSON.stringify(await readPage(page, part.limit))}\n`)
    }
  })
}

function join(plan) {
  return joinParts({ ...plan, read: page => readPage(page, plan.limit) })
}

async function readPage(page, limit) {
  const answer = await client.transactions.list({ page, limit })
  if (answer.limit !== limit) {
    // All ranges were made for another one.
    throw new UnrecoverableError(
      `page ${page}: the limit was ${limit} and is now ${answer.limit}. Begin anew.`,
    )
  }
  const { totalItems, data } = answer
  return { page, totalItems, data }
}
