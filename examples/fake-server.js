// @ts-check
// Serves the fake service over HTTP on this machine, for curl or a browser:
//
//   npm run example examples/fake-server.js              http://127.0.0.1:8787
//   PORT=3000 npm run example examples/fake-server.js

import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { createServer } from 'node:http'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { counted, portOf, runMain } from './terminal.js'

const host = '127.0.0.1'

/** For pages of any origin. As the key is in a header, browsers send a preflight first. */
const cors = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': '*',
}
const preflight = {
  ...cors,
  'Access-Control-Allow-Methods': 'GET, POST, PUT, PATCH, DELETE',
  'Access-Control-Allow-Headers': 'Api-Key, Idempotency-Key, Content-Type, *',
  'Access-Control-Max-Age': '600',
}

/**
 * Starts a fake service on 127.0.0.1.
 *
 * @param {Omit<import('virtual-accounts/testing').FakeServiceOptions, 'baseUrl'> & { port?: number }} [options]
 *   port: 8787 by default, 0 for any that is free; the others are those of FakeService, with 1,000 sample
 *   transactions by default
 * @returns {Promise<{ service: FakeService, url: string, close: () => Promise<void> }>}
 */
export async function startFakeServer({ port = 8787, ...options } = {}) {
  const server = createServer()
  server.listen(port, host)
  await once(server, 'listening')

  const address = /** @type {import('node:net').AddressInfo} */ (server.address())
  const url = `http://${host}:${address.port}`
  const service = new FakeService({ transactions: sampleTransactions(1000), ...options, baseUrl: url })
  server.on('request', (message, reply) => {
    respond(service, message, reply).catch(error => {
      console.error(error)
      reply.destroy()
    })
  })

  async function close() {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  return { service, url, close }
}

/**
 * @param {FakeService} service
 * @param {import('node:http').IncomingMessage} message
 * @param {import('node:http').ServerResponse} reply
 */
async function respond(service, message, reply) {
  if (message.method === 'OPTIONS' && message.headers['access-control-request-method']) {
    reply.writeHead(204, preflight).end()
    return
  }
  const gone = new AbortController()
  reply.on('close', () => gone.abort())

  let request
  try {
    request = await requestOf(service, message, gone.signal)
  } catch {
    // A Request cannot express it: TRACE, or a path such as *.
    reply.writeHead(400, cors).end()
    return
  }
  const response = await service.handle(request)
  if (gone.signal.aborted) return
  if (response.type === 'error') {
    reply.destroy()
    return
  }
  reply.writeHead(response.status, { ...Object.fromEntries(response.headers), ...cors })
  await send(response.body, reply)
}

/**
 * @param {FakeService} service
 * @param {import('node:http').IncomingMessage} message
 * @param {AbortSignal} signal
 */
async function requestOf(service, message, signal) {
  const { method = 'GET', url = '/' } = message
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(message.headersDistinct)) {
    for (const value of values) headers.append(name, value)
  }
  const sent = Buffer.concat(await message.toArray())
  const body = method === 'GET' || method === 'HEAD' ? null : sent
  return new Request(service.baseUrl + url, { method, headers, body, signal })
}

/**
 * @param {Response['body']} body
 * @param {import('node:http').ServerResponse} reply
 */
async function send(body, reply) {
  try {
    reply.flushHeaders()
    for await (const chunk of body ?? []) await written(reply, chunk)
    reply.end()
  } catch {
    // The body is cut off, so the connection must be too: an orderly end would look like a whole response.
    reply.destroy()
  }
}

/**
 * Resolves when a chunk is sent: destroying the connection must not drop it.
 *
 * @param {import('node:http').ServerResponse} reply
 * @param {Uint8Array} chunk
 * @returns {Promise<void>}
 */
function written(reply, chunk) {
  return new Promise((resolve, reject) => reply.write(chunk, error => (error ? reject(error) : resolve())))
}

async function main() {
  const { service, url } = await startFakeServer({ port: portOf(8787) })
  const curl = `curl -H 'Api-Key: ${service.apiKey}'`
  const account = `${url}/customers/c1/virtual_accounts/v1`
  console.log(`A fake service with ${counted(service.transactions.length, 'transaction')} on ${url}
Press Ctrl-C to stop it. Try:

  ${curl} \\
    '${url}/transactions?page=1&limit=3'

  ${curl} -H 'Idempotency-Key: try-1' -i -X POST \\
    ${account}/deactivate
`)
}

if (process.argv[1] && realpathSync(process.argv[1]) === import.meta.filename)
  runMain(import.meta.filename, main)
