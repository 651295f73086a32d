// A server that speaks each peer's dialect. Each measurement gets its own port, so requests can be counted and no connection
// is warm. It runs in its own process, so its costs are not measured.
import { fork } from 'node:child_process'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { loadPeer } from './kinds.js'
import { itemText } from './services.js'

const tooMany = '{"error":{"message":"Too many requests","type":"rate_limit_error"}}'
/** For requests without a page size. */
const defaultLimit = 20
const single = Buffer.from('{"id":"t1","amount":12.5,"currency":"EUR","description":"Invoice 1"}')

/** Starts the process. `open` resolves with an origin, and `close` with the number of requests. */
export async function startServer() {
  const child = fork(fileURLToPath(import.meta.url), ['--serve'], { execArgv: [] })
  const pending = new Map()
  let sent = 0
  child.on('message', ({ id, result }) => pending.get(id)(result))
  const call = message =>
    new Promise(resolve => {
      const id = ++sent
      pending.set(id, resolve)
      child.send({ id, ...message })
    })
  return {
    async open({ peer, items, latency, changes, perSecond }) {
      const port = await call({ open: { peer, items, latency, changes, perSecond } })
      return { origin: `http://127.0.0.1:${port}`, close: () => call({ close: port }) }
    },
    stop: () => child.kill(),
  }
}

function serve() {
  const open = new Map()
  // The program that started it has ended.
  process.once('disconnect', () => process.exit())
  process.on('message', async ({ id, ...message }) => {
    if (message.open) {
      const server = await listen(message.open)
      open.set(server.port, server)
      process.send({ id, result: server.port })
    } else {
      process.send({ id, result: open.get(message.close).close() })
      open.delete(message.close)
    }
  })
}

async function listen({ peer, items, latency, changes, perSecond }) {
  const { service } = await loadPeer(peer)
  const pageOf = pages(service, items, changes)
  const take = perSecond === undefined ? () => true : bucket(perSecond)
  let requests = 0
  const respond = (request, response) => {
    if (!take()) {
      response.writeHead(429, { 'content-type': 'application/json', 'retry-after': 1 }).end(tooMany)
      return
    }
    const { pathname, searchParams, origin } = new URL(request.url, `http://127.0.0.1:${port}`)
    const isList = request.method === 'GET' && pathname === service.path
    const { body, headers } = isList ? pageOf(searchParams, origin) : { body: single }
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
  const close = () => {
    server.close()
    server.closeAllConnections()
    return requests
  }
  return { port, close }
}

/** Whether another request is accepted, up to a rate and a burst. */
function bucket(perSecond) {
  let tokens = perSecond
  let filledAt = performance.now()
  return () => {
    const now = performance.now()
    tokens = Math.min(perSecond, tokens + ((now - filledAt) / 1000) * perSecond)
    filledAt = now
    if (tokens < 1) return false
    tokens--
    return true
  }
}

/**
 * The page for a query. Items are created before the walk begins, unless the list is too long for memory. After each page,
 * `changes` items are removed at the head, and as many are added at the tail.
 */
function pages(service, total, changes = 0) {
  const isShort = total <= 100_000 && changes === 0
  const texts = isShort ? Array.from({ length: total }, (_, index) => itemText(index)) : undefined
  let removed = 0
  return (query, origin) => {
    const size = Number(query.get('limit') ?? query.get('per_page') ?? defaultLimit)
    const start = service.start(query, size)
    const end = Math.min(start + size, total)
    const onPage = texts
      ? texts.slice(start, end)
      : Array.from({ length: Math.max(0, end - start) }, (_, index) => itemText(removed + start + index))
    removed += changes
    const facts = { data: `[${onPage.join(',')}]`, start, end, more: end < total, total, size, origin }
    return { body: Buffer.from(service.page(facts)), headers: service.headers?.(facts) }
  }
}

if (process.argv[2] === '--serve') serve()
