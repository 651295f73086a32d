// The other side of cases.js: a service that behaves, or misbehaves, as the path says, and tells what it saw.
//
//   /<visit>/<behaviour>/…    the base URL of a client is what stands before the …
//   /__seen/<visit>           what came in on that visit, oldest first

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { gzipSync } from 'node:zlib'

const host = '127.0.0.1'
const selfSigned = readFileSync(new URL('../http/fixtures/self-signed.pem', import.meta.url))

/** Starts everything that the cases need, and says where it is. */
export async function startServers() {
  const seen = new Map()
  const visitOf = name => {
    if (!seen.has(name)) seen.set(name, [])
    return seen.get(name)
  }
  const elsewhere = await listen(http.createServer(), (message, reply) => {
    const [, visit] = message.url.split('/')
    visitOf(visit).push({ where: 'elsewhere', path: message.url })
    reply.end('{}')
  })
  const service = await listen(http.createServer(), async (message, reply) => {
    const [, visit, behaviour, ...rest] = message.url.split('/')
    if (visit === '__seen') return void json(reply, visitOf(behaviour))
    const request = {
      where: 'service',
      method: message.method,
      path: `/${rest.join('/')}`,
      headers: message.headers,
      body: Buffer.concat(await message.toArray()).toString(),
      gone: false,
    }
    const requests = visitOf(visit)
    requests.push(request)
    reply.on('close', () => {
      request.gone = !reply.writableFinished
    })
    const count = requests.length
    behaviours[decodeURIComponent(behaviour)]({
      message,
      reply,
      request,
      count,
      elsewhere: `${elsewhere.url}/${visit}`,
    })
  })
  const secure = await listen(https.createServer({ key: selfSigned, cert: selfSigned }), (_message, reply) =>
    reply.end('{}'),
  )
  const refusing = await listen(http.createServer(), () => {})
  await refusing.close()
  return {
    urls: { service: service.url, untrusted: secure.url, refusing: refusing.url },
    close: () => Promise.all([service.close(), elsewhere.close(), secure.close()]),
  }
}

async function listen(server, answer) {
  server.on('request', answer)
  server.on('tlsClientError', () => {})
  server.listen(0, host)
  await once(server, 'listening')
  const protocol = server instanceof https.Server ? 'https' : 'http'
  return {
    url: `${protocol}://${host}:${server.address().port}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** What a visit meets; `count` is the number of its requests so far. */
const behaviours = {
  list: ({ reply, request }) => json(reply, pageFor(request)),
  'list in gzip': ({ reply, request }) => {
    reply.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
    reply.end(gzipSync(JSON.stringify(pageFor(request))))
  },
  write: ({ reply }) => json(reply, { done: true }),
  'busy once': ({ reply, count }) => {
    if (count > 1) return json(reply, { done: true })
    reply.writeHead(503, { 'retry-after': '0' }).end()
  },
  'busy for long': ({ reply }) => reply.writeHead(503, { 'retry-after': '50' }).end(),
  'reset once': ({ message, reply, count }) => {
    if (count > 1) return json(reply, { done: true })
    message.socket.resetAndDestroy()
  },
  'cut once': ({ reply, count }) => {
    if (count > 1) return json(reply, { done: true })
    // Only once these bytes have left, or closing the connection would drop them.
    beginning(reply, () => reply.destroy())
  },
  'cut a list once': ({ reply, request, count }) => {
    if (count > 1) return json(reply, pageFor(request))
    beginning(reply, () => reply.destroy())
  },
  redirect: ({ reply, request, elsewhere }) =>
    reply.writeHead(307, { location: elsewhere + request.path }).end(),
  silence: () => {},
  'half an answer': ({ reply }) => beginning(reply, () => {}),
  'wrong key': ({ reply, request }) => {
    const key = request.headers['api-key']
    json(reply, { error: `unknown key ${key}`, [key]: encodeURIComponent(key) }, 403, { 'x-echo': key })
  },
  'long number': ({ reply }) => {
    reply.setHeader('content-type', 'application/json')
    const item = '{"id":"a","amount":10.5,"currency":"EUR","description":"","reference":12345678901234567890}'
    reply.end(`{"data":[${item}],"page":1,"totalItems":1,"limit":20}`)
  },
  'a page of a proxy': ({ reply }) => {
    reply.setHeader('content-type', 'text/html')
    reply.end('<h1>Welcome</h1>')
  },
}

const totalItems = 95

function pageFor({ path }) {
  const { searchParams } = new URL(path, 'http://localhost')
  const page = Number(searchParams.get('page') ?? 1)
  const limit = Number(searchParams.get('limit') ?? 20)
  const first = (page - 1) * limit
  const count = Math.max(0, Math.min(limit, totalItems - first))
  const data = Array.from({ length: count }, (_, index) => ({
    id: `t${first + index + 1}`,
    amount: 10.25,
    currency: 'EUR',
    description: 'Straße ☂',
  }))
  return { data, page, totalItems, limit }
}

function json(reply, value, status = 200, headers = {}) {
  reply.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
}

/** The headers of a response and less of its body than they promise. */
function beginning(reply, then) {
  reply.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 })
  reply.write('{"da', then)
}
