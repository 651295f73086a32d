import { Client, type FetchInit } from 'virtual-accounts'
import {
  chunkedHead,
  close,
  closeAfter,
  FaultServer,
  gzipHead,
  gzipped,
  head,
  json,
  jsonHead,
  type Responder,
  reset,
  resetAfter,
  respond,
  silence,
  soon,
  stallAfter,
} from './fault-server.ts'
import { failedFetch } from './stub.ts'

export const apiKey = 'sk/test+key_of_any_write'

/** Whether the service applies such a write. `conflict`: perhaps, if the caller gave the key. */
type Applies = 'yes' | 'no' | 'perhaps' | 'conflict'

const success: Record<string, [Applies, Responder]> = {
  '200 with JSON': ['yes', json({ status: 'inactive' })],
  '200 with text': ['yes', respond(200, 'done', { 'content-type': 'text/plain' })],
  '200 without a body': ['yes', respond(200)],
  '204': ['yes', socket => void socket.write(head(204))],
}

const echo = `key ${apiKey}\r\nor ${encodeURIComponent(apiKey)}`
const statuses = (applies: Applies, codes: number[], responder = (code: number) => respond(code)) =>
  Object.fromEntries(codes.map(code => [code, [applies, responder(code)] as [Applies, Responder]]))

/** What the service does with a request. */
const overSockets: Record<string, [Applies, Responder]> = {
  'reset after the request': ['perhaps', reset],
  'closed after the request': ['perhaps', close],
  'half of the headers, then a reset': ['perhaps', resetAfter('HTTP/1.1 200 OK\r\ncontent-')],
  'half of the headers, then closed': ['perhaps', closeAfter('HTTP/1.1 200 OK\r\ncontent-')],
  garbage: ['perhaps', closeAfter('220 mail.example.com ESMTP\r\n\r\n')],
  'no response': ['perhaps', silence],
  'a stalled body': ['perhaps', stallAfter(jsonHead, '{"status"')],
  'fewer bytes than its Content-Length': ['perhaps', closeAfter(jsonHead, '{"status":"inactive"}')],
  'text that is cut off': ['perhaps', closeAfter(head(200, { 'content-length': 9 }), 'done')],
  'chunks that are cut off': ['perhaps', closeAfter(chunkedHead, '2\r\n{}\r\n')],
  'a reset within the body': ['perhaps', resetAfter(chunkedHead, '2\r\n{}\r\n')],
  'broken gzip': ['perhaps', closeAfter(gzipHead(9), 'not gzip!')],
  'gzip that is cut off': ['perhaps', closeAfter(gzipHead(gzipped.length), gzipped.subarray(0, 30))],
  '200 that is no UTF-8': ['perhaps', respond(200, Uint8Array.of(0x22, 0xff, 0x22))],
  '200 with a page': ['perhaps', respond(200, '<!doctype html><p>Log in', { 'content-type': 'text/html' })],
  '200 with a page as text': ['perhaps', respond(200, ' <html>', { 'content-type': 'text/plain' })],
  '200 with broken JSON': ['perhaps', json('{"status":')],
  '200 with too many bytes': ['perhaps', json({ note: 'x'.repeat(5000) })],
  ...statuses('perhaps', [300, 301, 302, 303], code =>
    respond(code, '', { location: `/${encodeURIComponent(apiKey)}` }),
  ),
  ...statuses('no', [307, 308], code => respond(code, 'moved', { location: 'https://elsewhere.example' })),
  ...statuses('no', [400, 401, 403, 404, 422], code => json({ message: echo, [apiKey]: [echo] }, code)),
  '422 with a stalled body': ['no', stallAfter(head(422, { 'content-length': 9 }), '{')],
  '404, then a reset within the body': ['no', resetAfter(head(404, { 'content-length': 9 }), '{')],
  ...statuses('conflict', [409]),
  ...statuses('no', [425]),
  '429': ['no', respond(429, '', { 'retry-after': 1 })],
  '429 for an hour': ['no', respond(429, '', { 'retry-after': 3600 })],
  ...statuses('perhaps', [408, 500, 501, 502, 504, 505], code => respond(code, echo, { 'x-echo': apiKey })),
  '503': ['perhaps', respond(503, '', { 'retry-after': 2 })],
  '503 with a stalled body': ['perhaps', stallAfter(head(503, { 'content-length': 9 }), '{')],
}

/** Where a request goes instead of to the service. */
const elsewhere = [
  'refused',
  'reset before the request is read',
  'HTTP on a TLS port',
  'TLS on an HTTP port',
  'an unknown certificate',
] as const

const refuse = () => {
  throw new Error('not here')
}
/** A response of another make, or one with a property that fails. */
const like = (properties: object) =>
  Object.defineProperties(
    { status: 200, type: 'basic', headers: new Headers(), body: null },
    Object.getOwnPropertyDescriptors(properties),
  )
const bodyLike = (read: unknown) => like({ body: { getReader: () => ({ read, cancel: refuse }) } })
const withoutStreams = (arrayBuffer: unknown) => like({ body: undefined, arrayBuffer })

/** Bodies that were neither read to their end nor cancelled. */
export const openBodies = new Set<object>()
function streaming(ends: boolean): Response {
  const token = {}
  openBodies.add(token)
  const stream = new ReadableStream({
    pull(controller) {
      controller.enqueue(new TextEncoder().encode(ends ? '{}' : ' '))
      if (!ends) return new Promise<void>(() => {})
      controller.close()
      openBodies.delete(token)
    },
    cancel: () => void openBodies.delete(token),
  })
  return new Response(stream)
}

async function used(): Promise<Response> {
  const response = Response.json({})
  await response.text()
  return response
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
const quoting = (init: FetchInit) =>
  Object.assign(new Error(`no luck\nwith ${JSON.stringify(init)}`), { config: init, request: init })
const cyclic = Object.assign(new Error('cyclic'), { cause: {} as unknown })
cyclic.cause = cyclic
const odd = {
  undefined,
  null: null,
  text: 'text',
  symbol: Symbol('odd'),
  bigint: 10n,
  empty: Object.create(null),
}
const unreadable = new Proxy({}, { get: refuse, has: refuse, getPrototypeOf: refuse })

/** What a custom fetch does, once the service has applied the write or not. */
const byFetch: Record<string, [Applies, (init: FetchInit) => unknown]> = {
  ...Object.fromEntries(
    Object.entries(odd).flatMap(([name, value]): [string, [Applies, () => unknown]][] => [
      [`fetch rejects: ${name}`, ['perhaps', () => Promise.reject(value)]],
      [`fetch resolves: ${name}`, ['perhaps', () => Promise.resolve(value)]],
    ]),
  ),
  'fetch rejects: its own abort': ['perhaps', () => Promise.reject(new DOMException('ended', 'AbortError'))],
  'fetch rejects: an error that quotes the request': ['perhaps', init => Promise.reject(quoting(init))],
  'fetch rejects: an error that is its own cause': ['perhaps', () => Promise.reject(cyclic)],
  'fetch rejects: a value that cannot be read': ['perhaps', () => Promise.reject(unreadable)],
  'fetch rejects: ECONNRESET': ['perhaps', () => Promise.reject(failedFetch('ECONNRESET'))],
  'fetch rejects: ENOTFOUND': ['no', () => Promise.reject(failedFetch('ENOTFOUND'))],
  'fetch rejects: a certificate': ['no', () => Promise.reject(failedFetch('CERT_HAS_EXPIRED'))],
  'fetch rejects: the error of another call': ['perhaps', failOtherCall],
  'fetch throws': ['perhaps', refuse],
  'fetch returns no promise': ['perhaps', () => undefined],
  'fetch never settles': ['perhaps', () => new Promise(() => {})],
  'fetch changes its init, then rejects': [
    'perhaps',
    init => {
      for (const name of Object.keys(init.headers)) init.headers[name] = 'changed'
      return Promise.reject(new Error('changed'))
    },
  ],
  'fetch responds late': ['yes', () => soon(15).then(() => streaming(true))],
  'fetch responds after the abort': ['yes', ({ signal }) => aborted(signal!).then(() => streaming(true))],
  'fetch rejects after the abort': ['perhaps', ({ signal }) => aborted(signal!).then(refuse)],
  'a body that never ends': ['perhaps', () => streaming(false)],
  'a used body': ['perhaps', used],
  'a network error': ['perhaps', () => Response.error()],
  'an opaque redirect': ['perhaps', () => like({ status: 0, type: 'opaqueredirect' })],
  'a status that is a string': ['perhaps', () => like({ status: '200' })],
  ...Object.fromEntries(
    ['status', 'headers', 'body'].map(name => [
      `${name} throws`,
      ['perhaps', () => like(Object.defineProperty({}, name, { get: refuse, enumerable: true }))],
    ]),
  ),
  'headers of another make': ['yes', () => like({ headers: new Map([['x-request-id', 'r1']]) })],
  'headers that cannot be iterated': ['perhaps', () => like({ headers: { get: refuse } })],
  'a body that cannot be read': ['perhaps', () => bodyLike(refuse)],
  'a body of text': ['perhaps', () => bodyLike(async () => ({ done: false, value: '{}' }))],
  'a body without results': ['perhaps', () => bodyLike(async () => undefined)],
  'arrayBuffer of text': ['perhaps', () => withoutStreams(async () => '{}')],
  'arrayBuffer never settles': ['perhaps', () => withoutStreams(() => new Promise(() => {}))],
}

async function failOtherCall(): Promise<never> {
  const fetch = async () => new Response(null, { status: 404 })
  const other = new Client({ baseUrl: 'https://other.example', apiKey: null, fetch })
  throw await other.virtualAccounts.deactivate({ customerId: 'c', virtualAccountId: 'v' }).catch(e => e)
}

const overFetch: Record<string, [Applies, Responder]> = { ...success, ...overSockets }

export const successes: readonly string[] = Object.keys(success)
export const kinds: readonly string[] = [...elsewhere, ...Object.keys({ ...overFetch, ...byFetch })]

/** Whether only its time limit ends such an attempt. */
export const isStalling = (kind: string): boolean => /no response|stalled|never|after the abort/.test(kind)

/** A service that honours idempotency keys, and whatever fails on the way to it and back. */
export class WriteService implements AsyncDisposable {
  readonly #keys = new Set<string>()
  readonly #applied = new Map<string, number>()
  readonly #servers: readonly FaultServer[]
  readonly #addresses: Readonly<Record<(typeof elsewhere)[number] | 'service', () => string>>

  private constructor(service: FaultServer, secure: FaultServer, unread: FaultServer, closed: FaultServer) {
    this.#servers = [service, secure, unread]
    service.steps.push((socket, { path, headers }) => {
      if (headers['x-applied']) this.#apply(path, headers['idempotency-key'])
      return overFetch[headers['x-kind'] ?? '']?.[1](socket, { path, headers } as never)
    })
    this.#addresses = {
      service: () => service.url,
      refused: () => closed.url,
      'reset before the request is read': () => unread.onNextConnection(reset).url,
      'HTTP on a TLS port': () => secure.url.replace('https', 'http'),
      'TLS on an HTTP port': () => unread.onNextConnection(respond(400)).url.replace('http', 'https'),
      'an unknown certificate': () => secure.url,
    }
  }

  static async start(): Promise<WriteService> {
    const closed = await FaultServer.start()
    await closed[Symbol.asyncDispose]()
    const [service, unread] = [await FaultServer.start(), await FaultServer.start()]
    return new WriteService(service, await FaultServer.startSecure({}), unread, closed)
  }

  /** The response to a request that fails in this way. `may`: whether the service applies the write if both are possible. */
  fetch(kind: string, may: boolean, hasCallerKey: boolean, url: string, init: FetchInit): unknown {
    const path = new URL(url).pathname
    const [applies, respond] = byFetch[kind] ?? []
    const isApplied = { yes: true, no: false, perhaps: may, conflict: may && hasCallerKey }[
      applies ?? overFetch[kind]?.[0] ?? 'no'
    ]
    if (respond) {
      if (isApplied) this.#apply(path, init.headers['idempotency-key'])
      return respond(init)
    }
    const headers = { ...init.headers, 'x-kind': kind, ...(isApplied ? { 'x-applied': 'yes' } : {}) }
    const address = this.#addresses[kind as 'service'] ?? this.#addresses.service
    return fetch(address() + path, { ...init, headers })
  }

  /** How often writes to this path were applied. */
  applied(path: string): number {
    return this.#applied.get(path) ?? 0
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) await server[Symbol.asyncDispose]()
  }

  #apply(path: string, key: string | undefined): void {
    if (key !== undefined && this.#keys.has(key)) return
    if (key !== undefined) this.#keys.add(key)
    this.#applied.set(path, this.applied(path) + 1)
  }
}
