import { readFileSync } from 'node:fs'
import net from 'node:net'
import tls from 'node:tls'
import { gzipSync } from 'node:zlib'
import { Client, type ClientOptions } from 'virtual-accounts'
import { apiKey } from './stub.ts'

/** A request as it arrived over the wire. */
export interface ReceivedRequest {
  method: string
  /** With its query. */
  path: string
  /** By lower-case name. */
  headers: Record<string, string>
  body: string
  /** The connection it arrived on, from 1. */
  connection: number
}

/** What the server does with a connection: it writes any bytes to the socket, or breaks it. */
export type Responder = (socket: net.Socket, request: ReceivedRequest) => void | Promise<void>

/**
 * An HTTP server that misbehaves as scripted, byte by byte: one step for each request, the last one for all that follow.
 * `steps` may be added to while it runs.
 */
export class FaultServer implements AsyncDisposable {
  /** The requests received, oldest first. */
  readonly requests: ReceivedRequest[] = []
  readonly steps: Responder[]
  connections = 0
  readonly #server: net.Server
  readonly #sockets = new Set<net.Socket>()
  readonly #closed = new Map<number, PromiseWithResolvers<void>>()
  readonly #protocol: 'http' | 'https'
  /** For connections that are handled before a request is read. */
  readonly #onConnect: Responder[] = []

  private constructor(steps: Responder[], secure?: tls.TlsOptions) {
    this.steps = steps
    this.#protocol = secure ? 'https' : 'http'
    this.#server = secure
      ? tls.createServer({ key: selfSigned, cert: selfSigned, ...secure })
      : net.createServer()
    this.#server.on('connection', (socket: net.Socket) => this.#count(socket))
    this.#server.on(secure ? 'secureConnection' : 'connection', (socket: net.Socket) => this.#serve(socket))
    this.#server.on('tlsClientError', () => {})
  }

  static async start(...steps: Responder[]): Promise<FaultServer> {
    return new FaultServer(steps).#listen()
  }

  /** With a self-signed certificate, which no client trusts, or with other TLS options. */
  static async startSecure(options: tls.TlsOptions, ...steps: Responder[]): Promise<FaultServer> {
    return new FaultServer(steps, options).#listen()
  }

  /** Its address, which stays the same after it has stopped. */
  url = ''

  /** Handles the next connections before a request is read from them. */
  onNextConnection(...responders: Responder[]): this {
    this.#onConnect.push(...responders)
    return this
  }

  get idempotencyKeys(): (string | undefined)[] {
    return this.requests.map(({ headers }) => headers['idempotency-key'])
  }

  /** Resolves when the given connection, counted from 1, is closed. */
  closed(connection = 1): Promise<void> {
    return this.#closing(connection).promise
  }

  /** Resolves when `count` requests have been received. */
  async received(count = 1): Promise<void> {
    while (this.requests.length < count) await soon()
  }

  /** Resolves when `count` connections have been made. */
  async connected(count = 1): Promise<void> {
    while (this.connections < count) await soon()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #listen(): Promise<this> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
    this.url = `${this.#protocol}://127.0.0.1:${(this.#server.address() as net.AddressInfo).port}`
    return this
  }

  #closing(connection: number): PromiseWithResolvers<void> {
    const known = this.#closed.get(connection) ?? Promise.withResolvers<void>()
    this.#closed.set(connection, known)
    return known
  }

  #count(socket: net.Socket): void {
    const connection = ++this.connections
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#sockets.delete(socket)
      this.#closing(connection).resolve()
    })
  }

  #serve(socket: net.Socket): void {
    const connection = this.connections
    const onConnect = this.#onConnect.shift()
    if (onConnect) {
      // Read from it, or its end is not noticed.
      socket.resume()
      void onConnect(socket, { method: '', path: '', headers: {}, body: '', connection })
      return
    }
    let unread = ''
    socket.on('error', () => {})
    socket.setEncoding('latin1')
    socket.on('data', (data: string) => {
      unread += data
      const found = takeRequest(unread)
      if (!found) return
      unread = found.rest
      const request = { ...found.request, connection }
      this.requests.push(request)
      const step = this.steps.length > 1 ? this.steps.shift() : this.steps[0]
      void step?.(socket, request)
    })
  }
}

export function clientOf({ url }: Pick<FaultServer, 'url'>, options: Partial<ClientOptions> = {}): Client {
  return new Client({ baseUrl: url, apiKey, ...options })
}

/** Starts a server with these responders, and creates a client of it. */
export async function serve(responders: Responder | Responder[], options: Partial<ClientOptions> = {}) {
  const server = await FaultServer.start(...[responders].flat())
  return {
    server,
    client: clientOf(server, options),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

const selfSigned = readFileSync(new URL('fixtures/self-signed.pem', import.meta.url), 'utf8')

/** The first complete request in the text, and the text that follows it. */
function takeRequest(
  read: string,
): { request: Omit<ReceivedRequest, 'connection'>; rest: string } | undefined {
  const endOfHead = read.indexOf('\r\n\r\n')
  if (endOfHead < 0) return undefined
  const [requestLine = '', ...lines] = read.slice(0, endOfHead).split('\r\n')
  const [method = '', path = ''] = requestLine.split(' ')
  const headers = Object.fromEntries(
    lines.map(line => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  const beginOfBody = endOfHead + 4
  const endOfBody = beginOfBody + Number(headers['content-length'] ?? 0)
  if (read.length < endOfBody) return undefined
  const request = { method, path, headers, body: read.slice(beginOfBody, endOfBody) }
  return { request, rest: read.slice(endOfBody) }
}

/** Waits until bytes that were written have arrived over the loopback. */
export function soon(ms = 2): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}

type Headers = Record<string, string | number>

/** A status line and headers, as on the wire. */
export function head(status: number, headers: Headers = {}): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} Status\r\n${lines.join('')}\r\n`
}

/** The head of JSON. Its length exceeds what these tests send. */
export const jsonHead: string = head(200, { 'content-type': 'application/json', 'content-length': 1000 })
export const chunkedHead: string = head(200, {
  'content-type': 'application/json',
  'transfer-encoding': 'chunked',
})

/** A body of JSON, compressed. */
export const gzipped: Buffer = gzipSync(JSON.stringify({ status: 'inactive', note: 'x'.repeat(5000) }))

export function gzipHead(length: number): string {
  return head(200, {
    'content-type': 'application/json',
    'content-encoding': 'gzip',
    'content-length': length,
  })
}

// ---- complete responses

/** Any status, headers and body; the connection is kept. */
export function respond(status: number, body: string | Uint8Array = '', headers: Headers = {}): Responder {
  const bytes = Buffer.from(body as string)
  return socket => {
    socket.write(Buffer.from(head(status, { 'content-length': bytes.length, ...headers }), 'latin1'))
    if (bytes.length > 0) socket.write(bytes)
  }
}

/** A JSON value, or JSON text that is sent unchanged. */
export function json(value: unknown, status = 200, headers: Headers = {}): Responder {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return respond(status, text, { 'content-type': 'application/json', ...headers })
}

/** One page of a list; default: an empty one. */
export function page(data: unknown[] = []): Responder {
  return json({ data, page: 1, totalItems: data.length, limit: 20 })
}

// ---- incomplete responses

/** Resets the connection (RST). */
export const reset: Responder = socket => void socket.resetAndDestroy()

/** Closes the connection in an orderly way (FIN) before any response. */
export const close: Responder = socket => void socket.end()

/** Never responds. */
export const silence: Responder = () => {}

/** Sends these parts, and then nothing more. */
export function stallAfter(...parts: (string | Uint8Array)[]): Responder {
  return socket => {
    for (const part of parts) socket.write(part)
  }
}

/** Sends these parts, and then resets the connection. */
export function resetAfter(...parts: (string | Uint8Array)[]): Responder {
  return async socket => {
    for (const part of parts) socket.write(part)
    // A RST overtakes bytes that were written before it: they must have arrived.
    await soon(20)
    socket.resetAndDestroy()
  }
}

/** Sends these parts, and then closes the connection in an orderly way. */
export function closeAfter(...parts: (string | Uint8Array)[]): Responder {
  return socket => {
    for (const part of parts) socket.write(part)
    socket.end()
  }
}

/** Sends one byte at a time, endlessly. */
export function drip(first: string, everyMs = 10): Responder {
  return socket => {
    socket.write(first)
    const timer = setInterval(() => socket.write(' '), everyMs)
    socket.on('close', () => clearInterval(timer))
  }
}

/** Sends a body of zeros as fast as it is read; `written` counts the bytes handed to the socket. */
export function flood(status: number, bytes: number): { respond: Responder; written: () => number } {
  let written = 0
  const chunk = Buffer.alloc(64 * 1024, '0')
  const send = (socket: net.Socket) => {
    while (written < bytes && !socket.destroyed) {
      written += chunk.length
      if (!socket.write(chunk)) return void socket.once('drain', () => send(socket))
    }
  }
  return {
    written: () => written,
    respond: socket => {
      socket.write(head(status, { 'content-type': 'application/json', 'content-length': bytes }))
      send(socket)
    },
  }
}
