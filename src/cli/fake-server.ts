import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { FakeService, type Fault, sampleTransactions } from 'virtual-accounts/testing'

const host = '127.0.0.1'
const requestsPerFault = 4

// Pages of any origin may use the fake, because its data is made up.
const cors = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': '*' }
const preflight = {
  ...cors,
  'Access-Control-Allow-Methods': 'GET, POST, PUT, PATCH, DELETE',
  'Access-Control-Allow-Headers': 'Api-Key, Idempotency-Key, Content-Type, *',
}

interface FakeServerOptions {
  readonly port: number
  readonly transactions: number
  readonly faults: readonly string[]
  /** Requests per second. */
  readonly rate?: number | undefined
  /** Gets a line for each request, with its outcome. Headers and bodies may hold keys and customers' data. */
  readonly log: (line: string) => void
}

/** Serves a fake service over HTTP, on this machine only. */
export async function serveFake({ port, transactions, faults, rate, log }: FakeServerOptions): Promise<{
  introduction: string
  close: () => void
}> {
  const outcomes = faults.map(toOutcome)
  // Wrong options must throw before the server listens, or the process would not end.
  const items = sampleTransactions(transactions)
  const server = createServer()
  server.listen(port, host)
  await once(server, 'listening').catch(error => {
    throw error.code === 'EADDRINUSE' ? new Error(`Port ${port} is in use: pass --port 0`) : error
  })
  const { port: actualPort } = server.address() as AddressInfo
  const url = `http://${host}:${actualPort}`
  const service = new FakeService({ baseUrl: url, transactions: items })
  if (rate !== undefined) service.limit({ perSecond: rate })
  let requests = 0
  server.on('request', (message, reply) => {
    if (message.method === 'OPTIONS') {
      reply.writeHead(204, preflight).end()
      return
    }
    requests++
    const faults = requests / requestsPerFault
    const outcome = outcomes[(faults - 1) % outcomes.length]
    const isFault = Number.isInteger(faults) && outcome !== undefined
    if (isFault) service.fail({ with: outcome })
    reply.on('close', () =>
      log(`${message.method} ${message.url} → ${outcomeOf(reply)}${isFault ? ' (fault)' : ''}`),
    )
    respond(service, message, reply).catch(() => reply.destroy())
  })
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  const limits = [
    ...(rate === undefined ? [] : [`Rate: ${rate} per second. Extra requests get a 429.`]),
    ...(faults.length === 0 ? [] : [`Every fourth request fails, in turn with: ${faults.join(', ')}`]),
  ]
  return { introduction: introduce(service, transactions, limits), close }
}

function outcomeOf({ headersSent, statusCode, writableFinished }: ServerResponse): string {
  if (!headersSent) return 'no response'
  return writableFinished ? String(statusCode) : `${statusCode}, cut off`
}

function toOutcome(name: string): Fault['with'] {
  if (name === 'network-error' || name === 'truncate' || name === 'hang') return name
  if (!/^[45]\d\d$/.test(name))
    throw new TypeError(
      `--faults: expected statuses from 400 to 599, network-error, truncate or hang, got ${name}`,
    )
  return () => Response.json({ error: { message: 'an injected fault' } }, { status: Number(name) })
}

/** Responds to a message of Node's server as the fake service does. */
export async function respond(
  service: FakeService,
  message: IncomingMessage,
  reply: ServerResponse,
): Promise<void> {
  const { method = 'GET', url = '/' } = message
  const gone = new AbortController()
  reply.on('close', () => gone.abort())
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(message.headersDistinct))
    for (const value of values) headers.append(name, value)
  const sent = Buffer.concat(await message.toArray())
  const body = method === 'GET' || method === 'HEAD' ? null : sent
  const request = new Request(service.baseUrl + url, { method, headers, body, signal: gone.signal })
  const response = await service.handle(request)
  if (response.type === 'error') {
    reply.destroy()
    return
  }
  reply.writeHead(response.status, { ...Object.fromEntries(response.headers), ...cors })
  // Flushed now, or a truncated body would lose its headers.
  reply.flushHeaders()
  for await (const chunk of response.body ?? []) {
    // A destroyed connection drops unsent data.
    await new Promise(resolve => reply.write(chunk, resolve))
  }
  reply.end()
}

function introduce(
  { baseUrl, apiKey }: FakeService,
  transactions: number,
  limits: readonly string[],
): string {
  return `A fake service with ${transactions} transactions: ${baseUrl}
API key: ${apiKey}
${limits.map(limit => `${limit}\n`).join('')}
  new Client({ baseUrl: '${baseUrl}', apiKey: '${apiKey}' })

  curl -H 'Api-Key: ${apiKey}' '${baseUrl}/transactions?limit=3'

  curl -i -X POST -H 'Api-Key: ${apiKey}' -H 'Idempotency-Key: try-1' \\
    ${baseUrl}/customers/c1/virtual_accounts/v1/deactivate

Press Ctrl-C to stop it.`
}
