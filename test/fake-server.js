// @ts-check
// For tests that run programs: a FakeService behind HTTP. Plain JavaScript, as test/runtimes runs it without a build.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'

/**
 * Starts a fake service on 127.0.0.1, with 1,000 sample transactions unless others are given.
 *
 * @param {Omit<import('virtual-accounts/testing').FakeServiceOptions, 'baseUrl'>} [options]
 * @returns {Promise<{ service: FakeService, url: string, close: () => Promise<void> }>}
 */
export async function startFakeServer(options = {}) {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const url = `http://127.0.0.1:${port}`
  const service = new FakeService({ transactions: sampleTransactions(1000), ...options, baseUrl: url })
  server.on('request', (message, reply) => {
    respond(service, message, reply).catch(() => reply.destroy())
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
  const { method = 'GET', url } = message
  const gone = new AbortController()
  reply.on('close', () => gone.abort())
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(message.headersDistinct)) headers.set(name, values.join())
  const sent = Buffer.concat(await message.toArray())
  const body = method === 'GET' ? null : sent
  const request = new Request(service.baseUrl + url, { method, headers, body, signal: gone.signal })
  const response = await service.handle(request)
  if (response.type === 'error') return reply.destroy()
  reply.writeHead(response.status, Object.fromEntries(response.headers)).flushHeaders()
  // Each chunk is sent before the next, as a connection that is destroyed drops what is left.
  for await (const chunk of response.body ?? []) await new Promise(resolve => reply.write(chunk, resolve))
  reply.end()
}
