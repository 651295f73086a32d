// Whether a million items can be walked in a process of 64 MB of heap. Exits with 1 when not.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { startServer } from './server.mjs'

const items = 1_000_000
const heap = '--max-old-space-size=64'

async function walk(origin) {
  const { Client } = await import('../dist/index.js')
  const client = new Client({ baseUrl: `${origin}/${items}/0`, apiKey: 'key' })
  let seen = 0
  let mostHeap = 0
  for await (const _item of client.transactions.list({ limit: 100 })) {
    if (++seen % 10_000 === 0) mostHeap = Math.max(mostHeap, process.memoryUsage().heapUsed)
  }
  if (seen !== items) throw new Error(`${seen} of ${items} items seen`)
  const megabytes = bytes => `${Math.round(bytes / 1024 ** 2)} MB`
  const { maxRSS } = process.resourceUsage()
  console.log(
    `${seen} items walked with ${heap}: at most ${megabytes(mostHeap)} of heap seen, ${megabytes(maxRSS * 1024)} resident`,
  )
}

const origin = process.argv[2]
if (origin) {
  await walk(origin)
} else {
  const server = await startServer()
  try {
    execFileSync(process.execPath, [heap, fileURLToPath(import.meta.url), server.origin], {
      stdio: 'inherit',
    })
  } catch {
    console.error('not walked to its end')
    process.exitCode = 1
  } finally {
    server.stop()
  }
}
