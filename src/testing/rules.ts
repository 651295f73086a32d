import type { VirtualAccountRef } from '../resources/virtual-accounts.js'
import type { ReceivedRequest } from './received.js'

/** An answer before it is a Response: the same one may be given twice, or be cut off. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** JSON, or null: no body. */
  readonly body: string | null
}

/** How the lists page where the interface is silent. */
export interface Paging {
  readonly defaultLimit: number
  readonly maxLimit: number
}

const accountPath = /^\/customers\/([^/]+)\/virtual_accounts\/([^/]+)\/(deactivate|reactivate)$/

/** What the service answers, and what it remembers from one request to the next. */
export class Rules {
  readonly #apiKey: string
  readonly #paging: Paging
  readonly #lists = new Map<string, readonly unknown[]>()
  readonly #deactivated = new Set<string>()
  readonly #answered = new Map<string, { write: string; answer: Answer }>()

  constructor(apiKey: string, paging: Paging) {
    this.#apiKey = apiKey
    this.#paging = paging
  }

  answer(request: ReceivedRequest): Answer {
    const { method, path, headers } = request
    if (headers.get('Api-Key') !== this.#apiKey) {
      return failure(401, `The Api-Key header is ${headers.has('Api-Key') ? 'wrong' : 'missing'}.`)
    }
    const items = this.#lists.get(path)
    if (items) return method === 'GET' ? this.#page(items, request.query) : wrongMethod('GET')

    const [, customerId, virtualAccountId, operation] = accountPath.exec(path) ?? []
    const account = accountKey(customerId, virtualAccountId)
    if (account === undefined) return failure(404, `There is nothing at ${path}.`)
    if (method !== 'POST') return wrongMethod('POST')
    return this.#once(request, () => {
      if (operation === 'deactivate') this.#deactivated.add(account)
      else this.#deactivated.delete(account)
      return { status: 200, headers: {}, body: null }
    })
  }

  serveList(path: string, items: readonly unknown[]): void {
    this.#lists.set(path, items)
  }

  isActive({ customerId, virtualAccountId }: VirtualAccountRef): boolean {
    return !this.#deactivated.has(JSON.stringify([customerId, virtualAccountId]))
  }

  forget(): void {
    this.#lists.clear()
    this.#deactivated.clear()
    this.#answered.clear()
  }

  #page(items: readonly unknown[], query: ReceivedRequest['query']): Answer {
    const { defaultLimit, maxLimit } = this.#paging
    const page = wholeNumber(query.page, 1)
    const wanted = wholeNumber(query.limit, defaultLimit)
    if (page === undefined) return failure(400, 'page: expected a whole number from 1.')
    if (wanted === undefined) return failure(400, 'limit: expected a whole number from 1.')
    const limit = Math.min(wanted, maxLimit)
    const data = items.slice((page - 1) * limit, page * limit)
    return json(200, { data, page, totalItems: items.length, limit })
  }

  /** Applies a write once for each key, and gives its answer again when the key comes again. */
  #once({ method, path, headers, body }: ReceivedRequest, apply: () => Answer): Answer {
    const key = headers.get('Idempotency-Key')
    if (!key) return failure(400, 'The Idempotency-Key header is missing.')
    const write = JSON.stringify([method, path, body])
    const earlier = this.#answered.get(key)
    if (earlier) {
      return earlier.write === write
        ? earlier.answer
        : failure(422, 'The Idempotency-Key belongs to another request: each needs its own.')
    }
    const answer = apply()
    this.#answered.set(key, { write, answer })
    return answer
  }
}

function accountKey(...encoded: (string | undefined)[]): string | undefined {
  if (encoded.includes(undefined)) return undefined
  try {
    return JSON.stringify(encoded.map(id => decodeURIComponent(id!)))
  } catch {
    // A % that begins no character: no id is written like that.
    return undefined
  }
}

function wholeNumber(text: string | undefined, byDefault: number): number | undefined {
  if (text === undefined) return byDefault
  const value = Number(text)
  return /^[1-9]\d*$/.test(text) && Number.isSafeInteger(value) ? value : undefined
}

function json(status: number, value: unknown, headers?: Record<string, string>): Answer {
  return { status, headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(value) }
}

export function failure(status: number, message: string, headers?: Record<string, string>): Answer {
  return json(status, { error: { message } }, headers)
}

function wrongMethod(allowed: string): Answer {
  return failure(405, `Only ${allowed} works here.`, { Allow: allowed })
}
