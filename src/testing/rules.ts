import type { VirtualAccountRef } from '../index.js'
import { property } from '../internal/object.js'
import type { ReceivedRequest } from './received.js'

/** A response as data, because it may be sent twice or truncated. */
export interface ResponseData {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** JSON text, or null for no body. */
  readonly body: string | null
}

/** Choices about pages that the API specification leaves open. */
export interface Paging {
  readonly defaultLimit: number
  readonly maxLimit: number
}

const accountPath = /^\/customers\/([^/]+)\/virtual_accounts\/([^/]+)\/([^/]+)$/

/** The effect of each write on an account. */
const effects: Readonly<Record<string, (deactivated: Set<string>, account: string) => void>> = {
  deactivate: (deactivated, account) => deactivated.add(account),
  reactivate: (deactivated, account) => deactivated.delete(account),
}

const operations = Object.keys(effects).join(', ')

/** The fake's responses, and its state between requests. */
export class Rules {
  readonly #apiKey: string
  readonly #paging: Paging
  readonly #lists = new Map<string, readonly unknown[]>()
  readonly #deactivated = new Set<string>()
  readonly #writes = new Map<string, { write: string; response: ResponseData }>()
  readonly #ignored = new Set<string>()

  constructor(apiKey: string, paging: Paging) {
    this.#apiKey = apiKey
    this.#paging = paging
  }

  respond(request: ReceivedRequest): ResponseData {
    const { method, path, headers } = request
    if (headers.get('Api-Key') !== this.#apiKey) {
      return errorResponse(401, `The Api-Key header is ${headers.has('Api-Key') ? 'wrong' : 'missing'}.`)
    }
    const items = this.#lists.get(path)
    if (items) return method === 'GET' ? this.#page(items, request.query) : methodNotAllowed('GET')

    const [, customerId, virtualAccountId, operation = ''] = accountPath.exec(path) ?? []
    const account = accountKey(customerId, virtualAccountId)
    const effect = Object.hasOwn(effects, operation) ? effects[operation] : undefined
    if (account === undefined || !effect) {
      const known = account === undefined ? '' : ` Operations of an account are: ${operations}.`
      return errorResponse(404, `There is nothing at ${path}.${known}`)
    }
    if (method !== 'POST') return methodNotAllowed('POST')
    return this.#once(request, () => {
      effect(this.#deactivated, account)
      return { status: 200, headers: {}, body: null }
    })
  }

  serveList(path: string, items: readonly unknown[]): void {
    this.#lists.set(path, items)
  }

  isActive({ customerId, virtualAccountId }: VirtualAccountRef): boolean {
    return !this.#deactivated.has(JSON.stringify([customerId, virtualAccountId]))
  }

  reset(): void {
    this.#lists.clear()
    this.#deactivated.clear()
    this.#writes.clear()
  }

  #page(items: readonly unknown[], query: ReceivedRequest['query']): ResponseData {
    const { defaultLimit, maxLimit } = this.#paging
    this.#warnOfFilters(query)
    const page = parseInteger(property(query, 'page'), 1)
    const requestedLimit = parseInteger(property(query, 'limit'), defaultLimit)
    if (page === undefined) return errorResponse(400, 'page: expected a whole number of at least 1.')
    if (requestedLimit === undefined) {
      return errorResponse(400, 'limit: expected a whole number of at least 1.')
    }
    const limit = Math.min(requestedLimit, maxLimit)
    const data = items.slice((page - 1) * limit, page * limit)
    return jsonResponse(200, { data, page, totalItems: items.length, limit })
  }

  /** Without the warning, a test of a filter would pass although the filter has no effect. */
  #warnOfFilters(query: ReceivedRequest['query']): void {
    for (const name of Object.keys(query)) {
      if (name === 'page' || name === 'limit' || this.#ignored.has(name)) continue
      this.#ignored.add(name)
      // biome-ignore lint/suspicious/noConsole: nothing else shows it to the author of the test
      console.warn(
        `FakeService: the query parameter ${name} has no effect, because the fake does not filter.`,
      )
    }
  }

  /** Applies a write once for each key. A repeated key gets the same response. */
  #once({ method, path, headers, body }: ReceivedRequest, apply: () => ResponseData): ResponseData {
    const key = headers.get('Idempotency-Key')
    if (!key) return errorResponse(400, 'The Idempotency-Key header is missing.')
    const write = JSON.stringify([method, path, body])
    const earlier = this.#writes.get(key)
    if (earlier) {
      return earlier.write === write
        ? earlier.response
        : errorResponse(422, 'The Idempotency-Key was used for another request. Each request needs its own.')
    }
    const response = apply()
    this.#writes.set(key, { write, response })
    return response
  }
}

function accountKey(...encoded: (string | undefined)[]): string | undefined {
  if (encoded.includes(undefined)) return undefined
  try {
    return JSON.stringify(encoded.map(id => decodeURIComponent(id!)))
  } catch {
    // A malformed escape is not an encoded id.
    return undefined
  }
}

function parseInteger(given: unknown, fallback: number): number | undefined {
  if (given === undefined) return fallback
  const text = String(given)
  const value = Number(text)
  return /^[1-9]\d*$/.test(text) && Number.isSafeInteger(value) ? value : undefined
}

function jsonResponse(status: number, value: unknown, headers?: Record<string, string>): ResponseData {
  return { status, headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(value) }
}

export function errorResponse(
  status: number,
  message: string,
  headers?: Record<string, string>,
): ResponseData {
  return jsonResponse(status, { error: { message } }, headers)
}

function methodNotAllowed(allowed: string): ResponseData {
  return errorResponse(405, `Only ${allowed} is allowed here.`, { Allow: allowed })
}
