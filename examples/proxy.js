// @ts-check
// A small server that adds the API key, for pages in a browser, where a key would
// be public:
//
//   npm run example examples/proxy.js     with a fake service, on port 8788
//   BASE_URL=https://… API_KEY=… PORT=3000 npm run example examples/proxy.js
//
// Serve your page from the same server, and create the client in it like this:
//
//   new Client({ baseUrl: '/api', apiKey: null })
//
// Whoever can reach this server acts with your key. Before you serve anyone else,
// make `findRefusal` check your session, and whether this user may use this
// customer.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { connect, findService } from './connect.js'
import { Problem, runMain } from './terminal.js'

// An encoded slash or backslash could be decoded by the service, and would then change the path.
const id = '(?:(?!%2f|%5c)[^/])+'

/** The requests that a browser may send. All others get a 404. */
const routes = [
  { method: 'GET', path: /^\/transactions$/, query: ['page', 'limit'] },
  {
    method: 'POST',
    path: new RegExp(`^/customers/${id}/virtual_accounts/${id}/(?:deactivate|reactivate)$`, 'i'),
    query: [],
  },
]

// No other headers are forwarded, especially no cookies and no Api-Key of a browser.
const requestHeaders = ['accept', 'content-type', 'idempotency-key']
const responseHeaders = ['content-type', 'retry-after', 'date', 'x-request-id', 'request-id']

const maxBodyBytes = 64 * 1024
// Longer than the service needs. Shorter than the client's timeout, so the client gets a 504 instead of nothing.
const timeoutMs = 50_000

runMain(import.meta.filename, async () => {
  const { PORT = '8788' } = process.env
  if (!/^\d+$/.test(PORT)) throw new Problem(`PORT: expected a number, got ${PORT}.`)
  const service = findService()
  // It checks both settings.
  connect(service)
  const server = createServer((message, reply) => {
    forward(service, message, reply).catch(error => {
      // Cut off this response as well, because the service's was cut off.
      console.error(error)
      reply.destroy()
    })
  })
  server.listen(Number(PORT), '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const url = `http://127.0.0.1:${port}/api`
  console.log(`A proxy for ${service.name} on ${url}
Press Ctrl-C to stop it. Try:

  curl '${url}/transactions?page=1&limit=3'
  curl -i -X POST -H 'Idempotency-Key: try-1' \\
    ${url}/customers/c1/virtual_accounts/v1/deactivate
`)
})

/**
 * @param {ReturnType<typeof findService>} service
 * @param {import('node:http').IncomingMessage} message
 * @param {import('node:http').ServerResponse} reply
 */
async function forward({ baseUrl, apiKey, fetch }, message, reply) {
  const target = findTarget(message)
  if (!target) return refuse(reply, 404, 'There is nothing here.')
  const refusal = findRefusal(message)
  if (refusal) return refuse(reply, 403, refusal)
  const body = await readBody(message)
  if (!body) return refuse(reply, 413, `A body can have ${maxBodyBytes} bytes at most.`)

  const closed = new AbortController()
  reply.on('close', () => closed.abort())
  const signal = AbortSignal.any([closed.signal, AbortSignal.timeout(timeoutMs)])
  let response
  try {
    response = await fetch(baseUrl.replace(/\/+$/, '') + target, {
      method: message.method ?? 'GET',
      headers: { ...pick(message.headers, requestHeaders), 'Api-Key': apiKey },
      body: body.length > 0 ? body : null,
      // The key goes to the service only.
      redirect: 'manual',
      signal,
    })
  } catch (error) {
    if (closed.signal.aborted) return
    // A 5xx, because it tells the client that a write may have been applied. The client retries with its key.
    // A proxy must not retry.
    const isTimeout = signal.aborted
    console.error(`${message.method} ${target}:`, isTimeout ? 'no response in time' : error)
    return refuse(reply, isTimeout ? 504 : 502, 'The service did not respond.')
  }
  reply.writeHead(response.status, pick(Object.fromEntries(response.headers), responseHeaders))
  // Unchanged, because parsing it would lose digits of long numbers.
  await pipeline(response.body ?? [], reply)
}

/**
 * Path and query below the service's base URL. `undefined` if they may not be requested.
 *
 * @param {import('node:http').IncomingMessage} message
 */
function findTarget({ method, url = '/' }) {
  // Parsed as the service will parse it, so that dot segments are resolved before the path is compared.
  const parsed = URL.parse(`http://proxy${url}`)
  if (!parsed?.pathname.startsWith('/api/')) return undefined
  const path = parsed.pathname.slice('/api'.length)
  const isAllowed = routes.some(
    route =>
      route.method === method &&
      route.path.test(path) &&
      [...parsed.searchParams.keys()].every(name => route.query.includes(name)),
  )
  return isAllowed ? path + parsed.search : undefined
}

/**
 * Why this request is not allowed. `undefined` if it is.
 *
 * @param {import('node:http').IncomingMessage} message
 */
function findRefusal({ headers }) {
  // Every browser says which site a request comes from. A page of another site must not act for a visitor.
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return 'Only pages of this server may use it.'
  return undefined
}

/**
 * @param {import('node:http').IncomingMessage} message
 * @returns {Promise<Buffer<ArrayBuffer> | undefined>} undefined if it is too long
 */
async function readBody(message) {
  const chunks = []
  let length = 0
  for await (const chunk of message) {
    length += chunk.length
    if (length > maxBodyBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/**
 * @param {Record<string, string | string[] | undefined>} headers
 * @param {string[]} names
 */
function pick(headers, names) {
  /** @type {Record<string, string>} */
  const picked = {}
  for (const name of names) {
    const value = headers[name]
    if (typeof value === 'string') picked[name] = value
  }
  return picked
}

/**
 * @param {import('node:http').ServerResponse} reply
 * @param {number} status
 * @param {string} message
 */
function refuse(reply, status, message) {
  reply.writeHead(status, { 'Content-Type': 'application/json', Connection: 'close' })
  reply.end(JSON.stringify({ error: { message } }))
}
