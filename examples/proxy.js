// @ts-check
// A small server that adds the API key, for programs in a browser, where a key would be public:
//
//   npm run example examples/proxy.js            with a fake service, on port 8788
//   BASE_URL=https://… API_KEY=… PORT=3000 npm run example examples/proxy.js
//
// Serve your page from the same server. In the page: `new Client({ baseUrl: '/api', apiKey: null })`
//
// Whoever can reach this server acts with your key. Before you serve anyone else, make `findRefusal` check your session, and
// whether this user may use this customer.

import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { createServer } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { realService } from './connect.js'
import { startFakeServer } from './fake-server.js'
import { portOf, runMain } from './terminal.js'

// An encoded slash or backslash could be decoded by the service, and would then change the path.
const id = '(?:(?!%2f|%5c)[^/])+'

/** What a browser may request; everything else is a 404. */
const routes = [
  { method: 'GET', path: /^\/transactions$/, query: ['page', 'limit'] },
  {
    method: 'POST',
    path: new RegExp(`^/customers/${id}/virtual_accounts/${id}/(?:deactivate|reactivate)$`, 'i'),
    query: [],
  },
]

// No others are forwarded: above all no cookies, and no Api-Key of a browser.
const requestHeaders = ['accept', 'content-type', 'idempotency-key']
const responseHeaders = ['content-type', 'retry-after', 'date', 'x-request-id', 'request-id']

const maxBodyBytes = 64 * 1024
// Longer than the service needs, and shorter than the client's timeout, which then gets a 504 instead of nothing.
const timeoutMs = 50_000

/**
 * Starts a proxy on 127.0.0.1 that serves paths below /api.
 *
 * @param {{ baseUrl: string, apiKey: string, port?: number }} options port: 8788 by default, 0 for any free one
 * @returns {Promise<{ url: string, close: () => Promise<void> }>}
 */
export async function startProxy({ baseUrl, apiKey, port = 8788 }) {
  const server = createServer((message, reply) => {
    forward(message, reply).catch(error => {
      // The response was cut off, so this one must be, too.
      console.error(error)
      reply.destroy()
    })
  })

  /**
   * @param {import('node:http').IncomingMessage} message
   * @param {import('node:http').ServerResponse} reply
   */
  async function forward(message, reply) {
    const target = findTarget(message)
    if (!target) return refuse(reply, 404, 'There is nothing here.')
    const refusal = findRefusal(message)
    if (refusal) return refuse(reply, 403, refusal)
    const body = await readBody(message)
    if (!body) return refuse(reply, 413, `A body can have ${maxBodyBytes} bytes at most.`)

    const closed = new AbortController()
    reply.on('close', () => closed.abort())
    const headers = { ...pick(message.headers, requestHeaders), 'Api-Key': apiKey }
    const signal = AbortSignal.any([closed.signal, AbortSignal.timeout(timeoutMs)])
    let response
    try {
      response = await fetch(baseUrl.replace(/\/+$/, '') + target, {
        method: message.method ?? 'GET',
        headers,
        body: body.length > 0 ? body : null,
        // The key goes to the service only.
        redirect: 'manual',
        signal,
      })
    } catch (error) {
      if (closed.signal.aborted) return
      // A 5xx, because it tells the client that a write may have been applied. The client retries with its key; a proxy
      // must not.
      const isTimeout = signal.aborted
      console.error(`${message.method} ${target}:`, isTimeout ? 'no response in time' : error)
      return refuse(reply, isTimeout ? 504 : 502, 'The service did not respond.')
    }
    reply.writeHead(response.status, pick(Object.fromEntries(response.headers), responseHeaders))
    // Unchanged: parsing and writing it again would lose digits of long numbers.
    await pipeline(response.body ?? [], reply)
  }

  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = /** @type {import('node:net').AddressInfo} */ (server.address())

  async function close() {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  return { url: `http://127.0.0.1:${address.port}`, close }
}

/**
 * Path and query below the service's base URL; undefined if they may not be requested.
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
 * Why this request is not allowed; undefined if it is.
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

async function main() {
  const port = portOf(8788)
  const real = realService()
  const { baseUrl, apiKey } = real ?? (await startFake())
  const { url } = await startProxy({ baseUrl, apiKey, port })
  console.log(`A proxy for ${real ? baseUrl : 'a fake service'} on ${url}/api
Press Ctrl-C to stop it. Try:

  curl '${url}/api/transactions?page=1&limit=3'
  curl -i -X POST -H 'Idempotency-Key: try-1' \\
    ${url}/api/customers/c1/virtual_accounts/v1/deactivate
`)
}

async function startFake() {
  const { url, service } = await startFakeServer({ port: 0 })
  return { baseUrl: url, apiKey: service.apiKey }
}

if (process.argv[1] && realpathSync(process.argv[1]) === import.meta.filename)
  runMain(import.meta.filename, main)
