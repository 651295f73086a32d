import { readFileSync } from 'node:fs'
import net from 'node:net'
import tls from 'node:tls'

/** A request as it came over the wire. */
export interface ReceivedRequest {
  method: string
  /** With its query. */
  path: string
  /** By lower-case name. */
  headers: Record<string, string>
  body: string
  /** Which connection it came on, from 1. */
  connection: number
}

/** What the server does with a connection: writes what it likes to the socket, or breaks it. */
export type Answer = (socket: net.Socket, request: ReceivedRequest) => void | Promise<void>

/**
 * An HTTP server that misbehaves as it is told, byte by byte: one step of the script for each request, the last one
 * for all that follow. `steps` may be added to while it runs.
 */
export class FaultServer implements AsyncDisposable {
  /** What came in, oldest first. */
  readonly requests: ReceivedRequest[] = []
  readonly steps: Answer[]
  /** How many connections were made. */
  connections = 0
  readonly #server: net.Server
  readonly #sockets = new Set<net.Socket>()
  readonly #closed = new Map<number, PromiseWithResolvers<void>>()
  readonly #protocol: 'http' | 'https'
  /** For connections that are met before a request was read. */
  readonly #onConnect: Answer[] = []

  private constructor(steps: Answer[], { secure = false }: { secure?: boolean } = {}) {
    this.steps = steps
    this.#protocol = secure ? 'https' : 'http'
    this.#server = secure ? tls.createServer({ key: selfSigned, cert: selfSigned }) : net.createServer()
    this.#server.on('connection', (socket: net.Socket) => this.#count(socket))
    this.#server.on(secure ? 'secureConnection' : 'connection', (socket: net.Socket) => this.#serve(socket))
    this.#server.on('tlsClientError', () => {})
  }

  static async start(...steps: Answer[]): Promise<FaultServer> {
    return new FaultServer(steps).#listen()
  }

  /** With a certificate that nobody trusts. */
  static async startSecure(...steps: Answer[]): Promise<FaultServer> {
    return new FaultServer(steps, { secure: true }).#listen()
  }

  /** Where it can be found, also after it was stopped. */
  url = ''

  /** What befalls the next connection before a request is read from it. */
  onNextConnection(...answers: Answer[]): this {
    this.#onConnect.push(...answers)
    return this
  }

  /** The idempotency keys of what came in. */
  get idempotencyKeys(): (string | undefined)[] {
    return this.requests.map(({ headers }) => headers['idempotency-key'])
  }

  /** Settles when the given connection, counted from 1, is closed. */
  closed(connection = 1): Promise<void> {
    return this.#closing(connection).promise
  }

  /** Settles when so many requests have come in. */
  async received(count = 1): Promise<void> {
    while (this.requests.length < count) await soon()
  }

  /** Settles when so many connections have been made. */
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
      // Read, so that its end is noticed.
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

const selfSigned = readFileSync(new URL('fixtures/self-signed.pem', import.meta.url), 'utf8')

/** The first whole request in what was read, and what follows it. */
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

/** A moment for what is on its way on the loopback. */
export function soon(ms = 2): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}

type Headers = Record<string, string | number>

/** A status line and headers, as they stand on the wire. */
export function head(status: number, headers: Headers = {}): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} Status\r\n${lines.join('')}\r\n`
}

// ---- answers that are whole

/** Any status, headers and body; the connection is kept. */
export function answer(status: number, body: string | Uint8Array = '', headers: Headers = {}): Answer {
  const bytes = Buffer.from(body as string)
  return socket => {
    socket.write(Buffer.from(head(status, { 'content-length': bytes.length, ...headers }), 'latin1'))
    if (bytes.length > 0) socket.write(bytes)
  }
}

/** A JSON value, or JSON text that is sent as it stands. */
export function json(value: unknown, status = 200, headers: Headers = {}): Answer {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return answer(status, text, { 'content-type': 'application/json', ...headers })
}

/** One page of a list, by default one that is empty. */
export function page(data: unknown[] = []): Answer {
  return json({ data, page: 1, totalItems: data.length, limit: 20 })
}

// ---- answers that are not

/** The connection breaks, with a RST. */
export const reset: Answer = socket => void socket.resetAndDestroy()

/** The connection is closed in good order, but too early. */
export const close: Answer = socket => void socket.end()

/** Nothing ever comes. */
export const silence: Answer = () => {}

/** Something is sent, and then nothing ever again. */
export function stallAfter(...parts: (string | Uint8Array)[]): Answer {
  return socket => {
    for (const part of parts) socket.write(part)
  }
}

/** Something is sent, and then the connection breaks. */
export function resetAfter(...parts: (string | Uint8Array)[]): Answer {
  return async socket => {
    for (const part of parts) socket.write(part)
    // A RST overtakes what was written before it: let that arrive.
    await soon(20)
    socket.resetAndDestroy()
  }
}

/** Something is sent, and then the connection is closed in good order. */
export function closeAfter(...parts: (string | Uint8Array)[]): Answer {
  return socket => {
    for (const part of parts) socket.write(part)
    socket.end()
  }
}

/** A byte now and then, without an end. */
export function drip(first: string, everyMs = 10): Answer {
  return socket => {
    socket.write(first)
    const timer = setInterval(() => socket.write(' '), everyMs)
    socket.on('close', () => clearInterval(timer))
  }
}

/**
 * A body of zeros, as fast as it is read; `written` counts what was handed to the socket.
 */
export function flood(status: number, bytes: number): { answer: Answer; written: () => number } {
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
    answer: socket => {
      socket.write(head(status, { 'content-type': 'application/json', 'content-length': bytes }))
      send(socket)
    },
  }
}
