import { type Checks, checkedLater, readOptions } from '../internal/arguments.js'
import { describe } from '../internal/describe.js'
import { type ReceivedRequest, toUrlPath } from './received.js'

/**
 * A fault that makes requests fail. Pass it to {@link FakeService.fail}.
 *
 * @example
 * ```ts
 * service.fail({ times: 2, with: () => Response.json({ error: 'busy' }, { status: 503 }) })
 * service.fail({ method: 'POST', path: /\/deactivate$/, with: 'truncate' })
 * ```
 */
export interface Fault {
  /**
   * Number of matching requests that fail. At least 1, or `Infinity` for all until `reset()`.
   * @defaultValue 1
   */
  times?: number | undefined
  /**
   * Only requests with this method fail, in upper or lower case.
   * @defaultValue all methods
   */
  method?: string | undefined
  /**
   * Only requests for this path fail. It is the path after `baseUrl`, without the query, or a pattern for it. Encode ids in it
   * with `encodeURIComponent`.
   * @defaultValue all paths
   */
  path?: string | RegExp | undefined
  /**
   * The outcome of matching requests, instead of their response:
   * - a `Response`, or a function that returns one: each request gets a copy. Nothing is applied, and no idempotency key is
   *   remembered. If the function throws, `fetch` rejects with its error.
   * - `'network-error'`: no connection. The request is listed in `requests`, but not applied. The error has no code, as in a
   *   browser, so `outcomeUnknown` of a write is `true`.
   * - `'hang'`: no response. The request is not applied. It ends when its signal aborts.
   * - `'truncate'`: the request is **applied**, but its response is cut off. Status, headers and half of the body arrive. Then
   *   the body fails. Use this to test a write whose response is lost. A retry with the same key gets the whole response.
   */
  with: Response | (() => Response) | 'network-error' | 'hang' | 'truncate'
}

const checks: Checks<Fault> = {
  times: checkedLater,
  method: checkedLater,
  path: checkedLater,
  with: checkedLater,
}
const help = ' For a status, headers and body, pass a Response as `with`.'

type Matcher = (request: ReceivedRequest) => boolean

/** The remaining faults, oldest first. */
export class FaultQueue {
  #faults: { left: number; isUsed: boolean; matches: Matcher; readonly fault: Fault }[] = []

  /** Faults with requests left to fail. One with `Infinity` counts only if it failed none. */
  get unused(): Fault[] {
    const unused = this.#faults.filter(({ left, isUsed }) => Number.isFinite(left) || !isUsed)
    return unused.map(({ left, fault }) => ({ ...fault, times: left }))
  }

  add(fault: Fault): void {
    if (typeof fault !== 'object' || fault === null) {
      throw new TypeError(
        `fault: expected an object such as { with: 'network-error' }, got ${describe(fault)}`,
      )
    }
    const {
      times = 1,
      method,
      path,
      with: outcome,
    } = readOptions('fault', fault, checks, 'Options of a fault', help)
    if (times !== Number.POSITIVE_INFINITY && !(Number.isSafeInteger(times) && times >= 1)) {
      throw new TypeError(`times: expected a whole number of at least 1, or Infinity, got ${describe(times)}`)
    }
    assertOutcome(outcome)
    const matches = createMatcher(method, path)
    this.#faults.push({ left: times, isUsed: false, matches, fault: { ...fault, with: outcome } })
  }

  /** The outcome that replaces the response to this request, if any. */
  take(request: ReceivedRequest): Fault['with'] | undefined {
    const next = this.#faults.find(({ matches }) => matches(request))
    if (!next) return undefined
    next.isUsed = true
    next.left--
    if (next.left === 0) this.#faults.splice(this.#faults.indexOf(next), 1)
    return next.fault.with
  }

  clear(): void {
    this.#faults = []
  }
}

function assertOutcome(outcome: unknown): asserts outcome is Fault['with'] {
  if (outcome === 'network-error' || outcome === 'hang' || outcome === 'truncate') return
  if (typeof outcome === 'function') return
  if (!isResponse(outcome)) {
    const hint = typeof outcome === 'number' ? ` (pass new Response(null, { status: ${outcome} }))` : ''
    const got = typeof outcome === 'string' ? `'${outcome}'` : `${describe(outcome)}${hint}`
    throw new TypeError(
      `with: expected a Response, a function that returns one, 'network-error', 'hang' or 'truncate', got ${got}`,
    )
  }
  if (outcome.bodyUsed) {
    throw new TypeError(
      'with: expected a Response with an unread body, got one that was read (pass a function that creates a new one)',
    )
  }
}

/** Without instanceof, because a test runner's page or sandbox may have its own Response. */
export function isResponse(value: unknown): value is Response {
  const { status, clone } = Object(value) as Partial<Response>
  return typeof status === 'number' && typeof clone === 'function'
}

function createMatcher(method: Fault['method'], path: Fault['path']): Matcher {
  // Any other would never match: fetch sends custom methods, but the client does not.
  if (method !== undefined && !/^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)$/i.test(method)) {
    throw new TypeError(`method: expected an HTTP method such as 'POST', got ${describe(method)}`)
  }
  const upperMethod = method?.toUpperCase()
  const matchesPath = createPathMatcher(path)
  return request =>
    (upperMethod === undefined || request.method.toUpperCase() === upperMethod) && matchesPath(request.path)
}

function createPathMatcher(path: Fault['path']): (path: string) => boolean {
  if (path === undefined) return () => true
  if (path instanceof RegExp) {
    const pattern = new RegExp(path)
    return candidate => {
      // With the flags g and y, a pattern starts where its last match ended.
      pattern.lastIndex = 0
      return pattern.test(candidate)
    }
  }
  const urlPath = toUrlPath(path)
  if (/[*{}]|\/:|.\/$/.test(path)) {
    throw new TypeError(
      `path: expected the whole path of a request, or a RegExp such as /\\/deactivate$/, got ${JSON.stringify(path)}`,
    )
  }
  return candidate => candidate === urlPath
}
