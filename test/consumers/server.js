// What the pages talk to: their own server, which is also a proxy, and the service on another origin.
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'

const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' }

/** Starts both, with what the installed `virtual-accounts/testing` exports. */
export async function startServers({ FakeService, sampleTransactions }) {
  const [pages, api] = await Promise.all([listen(), listen()])
  const service = new FakeService({ baseUrl: api.url, transactions: sampleTransactions(250) })
  const state = {
    pages: pages.url,
    service,
    /** The folder that is served, the script its page runs, and where the page's results go. */
    folder: undefined,
    seen: { proxied: [], preflights: [], writes: [], violations: [] },
    keys: new Set(),
    arrived: signal(),
    gone: signal(),
    results: signal(),
  }
  pages.server.on('request', answering(servePage, state))
  api.server.on('request', answering(serveApi, state))

  return {
    pages: pages.url,
    service: api.url,
    /** Serves a folder, forgetting what was before; `results` is what its page will send. */
    show(folder) {
      service.reset()
      Object.assign(state, { folder, arrived: signal(), gone: signal(), results: signal(), keys: new Set() })
      state.seen = { proxied: [], preflights: [], writes: [], violations: [] }
      return state
    },
    close() {
      for (const { server } of [pages, api]) {
        server.close()
        server.closeAllConnections()
      }
    },
  }
}

function signal() {
  return Promise.withResolvers()
}

async function listen() {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `http://127.0.0.1:${server.address().port}` }
}

function answering(serve, state) {
  return (message, reply) => {
    serve(state, message, reply).catch(error => {
      console.error(error)
      reply.destroy()
    })
  }
}

/** As strict as can be: no eval, nothing inline, no text as a script, no other origin. */
function policy({ service }) {
  return [
    `default-src 'none'`,
    `script-src 'self'`,
    `img-src 'self'`,
    `connect-src 'self' ${service.baseUrl}`,
    `require-trusted-types-for 'script'`,
    `trusted-types 'none'`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `report-uri /violations`,
  ].join('; ')
}

async function servePage(state, message, reply) {
  const { pathname } = new URL(message.url, state.pages)
  const json = value =>
    reply.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(value))

  if (pathname.startsWith('/api/')) return proxy(state, message, reply)
  switch (pathname) {
    case '/facts':
      return json({ service: state.service.baseUrl, ids: state.service.transactions.map(({ id }) => id) })
    case '/seen':
      return json(state.seen)
    case '/arrived':
      await state.arrived.promise
      state.arrived = signal()
      return json({})
    case '/gone':
      await state.gone.promise
      return json({})
    case '/key': {
      const key = crypto.randomUUID()
      state.keys.add(key)
      return json({ key })
    }
    case '/revoke':
      state.keys.clear()
      return json({})
    case '/violations':
      state.seen.violations.push(await textOf(message))
      return reply.writeHead(204).end()
    case '/results':
      state.results.resolve(JSON.parse(await textOf(message)))
      return reply.writeHead(204).end()
    case '/icon.svg':
      return reply
        .writeHead(200, { 'Content-Type': types['.svg'] })
        .end('<svg xmlns="http://www.w3.org/2000/svg"/>')
    default:
      return serveFile(state, pathname, reply)
  }
}

async function serveFile(state, pathname, reply) {
  const name = pathname === '/' ? '/index.html' : pathname
  let content
  try {
    content = await readFile(join(state.folder, name))
  } catch {
    return reply.writeHead(404).end()
  }
  reply
    .writeHead(200, {
      'Content-Type': types[extname(name)],
      'Content-Security-Policy': policy(state),
      'Cache-Control': 'no-store',
    })
    .end(content)
}

/** What a page's own server does: it knows the key, the page does not. */
async function proxy(state, message, reply) {
  state.seen.proxied.push(message.headers)
  const headers = { ...message.headers, 'api-key': state.service.apiKey }
  await forward(state, message, reply, { path: message.url.slice('/api'.length), headers })
}

/** The service. The first segment of the path chooses how it treats other origins. */
async function serveApi(state, message, reply) {
  const { headers, method } = message
  const [, manner, path] = message.url.match(/^\/(\w+)(\/.*)$/)

  reply.setHeader('X-Request-Id', crypto.randomUUID())
  if (manner !== 'refusing') reply.setHeader('Access-Control-Allow-Origin', state.pages)
  if (manner === 'exposing')
    reply.setHeader('Access-Control-Expose-Headers', 'Retry-After, Date, X-Request-Id')

  if (method === 'OPTIONS') {
    const asked = headers['access-control-request-headers']
    state.seen.preflights.push({ method: headers['access-control-request-method'], headers: asked })
    reply.setHeader('Access-Control-Allow-Methods', 'GET, POST')
    reply.setHeader('Access-Control-Allow-Headers', 'Api-Key, Idempotency-Key, Content-Type')
    return reply.writeHead(204).end()
  }
  if (method === 'POST') state.seen.writes.push(headers['idempotency-key'])
  if (manner === 'moved') return reply.writeHead(302, { Location: '/exposing/transactions' }).end()
  switch (path) {
    case '/busy':
      return reply.writeHead(429, { 'Retry-After': '90' }).end()
    case '/busy-until':
      return reply
        .writeHead(429, {
          Date: 'Tue, 01 Jan 2080 00:00:00 GMT',
          'Retry-After': 'Tue, 01 Jan 2080 00:01:30 GMT',
        })
        .end()
    case '/hanging':
      reply.on('close', () => state.gone.resolve())
      return state.arrived.resolve()
  }
  const key = state.keys.has(headers['api-key']) ? state.service.apiKey : headers['api-key']
  await forward(state, message, reply, {
    path,
    headers: { ...headers, 'api-key': key },
    isSilent: manner === 'silent',
  })
}

async function forward({ service, arrived }, message, reply, { path, headers, isSilent = false }) {
  const sent = await textOf(message)
  const body = sent === '' ? null : sent
  const response = await service.fetch(service.baseUrl + path, { method: message.method, headers, body })
  if (isSilent) return arrived.resolve()
  reply
    .writeHead(response.status, { 'Content-Type': response.headers.get('content-type') ?? 'text/plain' })
    .end(await response.text())
}

async function textOf(message) {
  return Buffer.concat(await message.toArray()).toString()
}
