// One server process that speaks each peer's dialect. Each measurement gets a port of its own on it, so that requests
// can be counted and no connection is warm. In a process of its own, so that it costs nothing to what is measured.
import { fork } from 'node:child_process'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { loadPeer } from './entries.js'
import { limit, pageOf } from './services.js'

const one = Buffer.from('{"id":"t1","amount":12.5,"currency":"EUR","description":"Invoice 1"}')

/** Starts the process. `open` gives an origin, and `close`, which tells how many requests came. */
export async function startServer() {
  const child = fork(fileURLToPath(import.meta.url), ['--serve'], { execArgv: [] })
  const waiting = new Map()
  let asked = 0
  child.on('message', ({ id, answer }) => waiting.get(id)(answer))
  const ask = question =>
    new Promise(resolve => {
      const id = ++asked
      waiting.set(id, resolve)
      child.send({ id, ...question })
    })
  return {
    async open(peer, items, latency) {
      const port = await ask({ open: { peer, items, latency } })
      return { origin: `http://127.0.0.1:${port}`, close: () => ask({ close: port }) }
    },
    stop: () => child.kill(),
  }
}

function serve() {
  const open = new Map()
  // Whoever started it is gone.
  process.once('disconnect', () => process.exit())
  process.on('message', async ({ id, ...question }) => {
    const answer = (id, answer) => process.send({ id, answer })
    if (question.open) {
      const server = await listen(question.open)
      open.set(server.port, server)
      answer(id, server.port)
    } else {
      answer(id, open.get(question.close).close())
      open.delete(question.close)
    }
  })
}

async function listen({ peer, items, latency }) {
  const { service } = await loadPeer(peer)
  let requests = 0
  let page
  const respond = (request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost')
    const isList = request.method === 'GET' && pathname === service.path
    const { body, headers } = isList ? page(searchParams) : { body: one }
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length, ...headers })
    response.end(body)
  }
  const server = createServer((request, response) => {
    requests++
    request.resume()
    request.once('end', () => {
      if (latency === 0) respond(request, response)
      else setTimeout(respond, latency, request, response)
    })
  })
  server.keepAliveTimeout = 60_000
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  page = pages(service, items, `http://127.0.0.1:${port}`)
  const close = () => {
    server.close()
    server.closeAllConnections()
    return requests
  }
  return { port, close }
}

/** Pages by query. Made before the walk begins, but for the list that is too long to hold. */
function pages(service, total, origin) {
  const make = start => pageOf(service, { start, total, origin })
  const made = []
  if (total <= 100_000) for (let start = 0; start < total; start += limit) made.push(make(start))
  return query => {
    if (![...query.values()].includes(String(limit))) throw new Error(`not asked for ${limit} items a page`)
    const start = service.start(query)
    return made[start / limit] ?? make(start)
  }
}

if (process.argv[2] === '--serve') serve()
