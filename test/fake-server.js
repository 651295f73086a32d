// @ts-check
// For tests that run programs: a FakeService behind HTTP. It responds as the command `fake` does.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { respond } from '../src/cli/fake-server.ts'

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
