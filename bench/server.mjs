// A service for the benches: lists of any length, each answer after any wait, both named by the path:
// http://127.0.0.1:PORT/<items>/<milliseconds>/transactions. In a process of its own, so that it costs the walk nothing.
import { fork } from 'node:child_process'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'

const bytesPerItem = 256

function item(index) {
  const rest = {
    id: `5${String(index).padStart(22, '0')}`,
    amount: (index % 100_000) / 100,
    currency: 'EUR',
    description: '',
  }
  const padding = bytesPerItem - JSON.stringify(rest).length
  return JSON.stringify({ ...rest, description: 'Invoice '.repeat(30).slice(0, padding) })
}

const made = new Map()

function body(totalItems, page, limit) {
  const name = `${totalItems} ${page} ${limit}`
  const known = made.get(name)
  if (known) return known
  const first = (page - 1) * limit
  const count = Math.max(0, Math.min(limit, totalItems - first))
  const data = Array.from({ length: count }, (_, index) => item(first + index)).join(',')
  const bytes = Buffer.from(`{"data":[${data}],"page":${page},"totalItems":${totalItems},"limit":${limit}}`)
  // The same for every round; 1,000 pages of 100 are 25 MB.
  if (made.size < 2_500) made.set(name, bytes)
  return bytes
}

function serve() {
  // Whoever started it is gone.
  process.once('disconnect', () => process.exit())
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost')
    const [, totalItems, latency] = pathname.split('/')
    const answer = () => {
      const bytes = body(
        Number(totalItems),
        Number(searchParams.get('page')),
        Number(searchParams.get('limit')),
      )
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': bytes.length })
      response.end(bytes)
    }
    if (latency === '0') answer()
    else setTimeout(answer, Number(latency))
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
}

/** Starts it; gives its origin and how to stop it. */
export function startServer() {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), ['--serve'], { execArgv: [] })
    child.once('error', reject)
    child.once('message', ({ port }) => {
      resolve({ origin: `http://127.0.0.1:${port}`, stop: () => child.kill() })
    })
  })
}

if (process.argv[2] === '--serve') serve()
