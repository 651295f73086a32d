// @ts-check
// A small server that keeps the key, for programs in a browser, where a key would be public:
//
//   npm run example examples/proxy.js                                      before a fake service, on port 8788
//   BASE_URL=https://… API_KEY=… PORT=3000 npm run example examples/proxy.js
//
// Serve your page from the same server. In it: new Client({ baseUrl: '/api', apiKey: null })
//
// Whoever reaches this server acts with your key. Before it serves anyone but you, let `refusal` look at your session,
// and at whether this user may touch this customer.

import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { createServer } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { startFakeServer } from './fake-server.js'

// A slash or backslash that is encoded may be decoded behind us, and then it climbs the path.
const id = '(?:(?!%2f|%5c)[^/])+'

/** What a browser may do; everything else is 404. */
const routes = [
  { method: 'GET', path: /^\/transactions$/, query: ['page', 'limit'] },
  {
    method: 'POST',
    path: new RegExp(`^/customers/${id}/virtual_accounts/${id}/(?:deactivate|reactivate)$`, 'i'),
    query: [],
  },
]

// All others stay here, cookies above all, and so does an Api-Key that a browser might send.
const sentOn = ['accept', 'content-type', 'idempotency-key']
const sentBack = ['content-type', 'retry-after', 'date']

const mostBytes = 64 * 1024
// Longer than the service needs, shorter than the client waits: it then hears 504 rather than nothing.
const longestMs = 50_000

/**
 * Starts a proxy on 127.0.0.1 that answers below /api.
 *
 * @param {{ baseUrl: string, apiKey: string, port?: number }} options port: 8788 by default, 0 for any that is free
 * @returns {Promise<{ url: string, close: () => Promise<void> }>}
 */
export async function startProxy({ baseUrl, apiKey, port = 8788 }) {
  const server = createServer((message, reply) => {
    answer(message, reply).catch(error => {
      // The body of the answer broke off: so must ours.
      console.error(error)
      reply.destroy()
    })
  })

  /**
   * @param {import('node:http').IncomingMessage} message
   * @param {import('node:http').ServerResponse} reply
   */
  async function answer(message, reply) {
    const target = targetOf(message)
    if (!target) return refuse(reply, 404, 'There is nothing here.')
    const reason = refusal(message)
    if (reason) return refuse(reply, 403, reason)
    const body = await bodyOf(message)
    if (!body) return refuse(reply, 413, `A body may have ${mostBytes} bytes.`)

    const gone = new AbortController()
    reply.on('close', () => gone.abort())
    const headers = { ...picked(message.headers, sentOn), 'Api-Key': apiKey }
    const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(longestMs)])
    let response
    try {
      response = await fetch(baseUrl.replace(/\/+$/, '') + target, {
        method: message.method ?? 'GET',
        headers,
        body: body.length > 0 ? body : null,
        // The key goes to the service and nowhere else.
        redirect: 'manual',
        signal,
      })
    } catch (error) {
      if (gone.signal.aborted) return
      // 5xx: the client then knows that a write may have been applied, and repeats it with its key. We never repeat.
      const isLate = signal.aborted
      console.error(`${message.method} ${target}:`, isLate ? 'no answer in time' : error)
      return refuse(reply, isLate ? 504 : 502, 'The service did not answer.')
    }
    reply.writeHead(response.status, picked(Object.fromEntries(response.headers), sentBack))
    // Sent on as it came: parsed and written anew, long numbers would lose digits.
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
 * Path and query below the service's base URL; undefined when nothing may be asked there.
 *
 * @param {import('node:http').IncomingMessage} message
 */
function targetOf({ method, url = '/' }) {
  // Parsed as the service will parse it: what climbs has climbed before it is compared.
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
 * Why somebody may not; undefined: they may.
 *
 * @param {import('node:http').IncomingMessage} message
 */
function refusal({ headers }) {
  // Every browser says where a request comes from. A page of another site must not act in the name of a visitor.
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return 'Only pages of this server may ask.'
  return undefined
}

/**
 * @param {import('node:http').IncomingMessage} message
 * @returns {Promise<Buffer<ArrayBuffer> | undefined>} undefined: it is too long
 */
async function bodyOf(message) {
  const chunks = []
  let length = 0
  for await (const chunk of message) {
    length += chunk.length
    if (length > mostBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/**
 * @param {Record<string, string | string[] | undefined>} headers
 * @param {string[]} names
 */
function picked(headers, names) {
  /** @type {Record<string, string>} */
  const found = {}
  for (const name of names) {
    const value = headers[name]
    if (typeof value === 'string') found[name] = value
  }
  return found
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
  const { BASE_URL, API_KEY, PORT = '8788' } = process.env
  const fake = BASE_URL ? undefined : await startFakeServer({ port: 0 })
  const baseUrl = BASE_URL ?? fake?.url ?? ''
  const apiKey = API_KEY ?? fake?.service.apiKey
  if (!apiKey) throw new Error('BASE_URL is set, but API_KEY is not.')
  const { url } = await startProxy({ baseUrl, apiKey, port: Number(PORT) })
  console.log(`A proxy for ${fake ? 'a fake service' : baseUrl} on ${url}/api. Ctrl-C ends it. Try:

  curl '${url}/api/transactions?page=1&limit=3'
  curl -i -X POST -H 'Idempotency-Key: try-1' ${url}/api/customers/c1/virtual_accounts/v1/deactivate
`)
}

if (process.argv[1] && realpathSync(process.argv[1]) === import.meta.filename) await main()
