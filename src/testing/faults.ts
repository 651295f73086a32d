import { pathInUrl, type ReceivedRequest } from './received.js'

/**
 * What goes wrong, for which requests, how often: see {@link FakeService.fail}.
 *
 * @example
 * ```ts
 * service.fail({ times: 2, with: () => Response.json({ error: 'busy' }, { status: 503 }) })
 * service.fail({ method: 'POST', path: /\/deactivate$/, with: 'truncate' })
 * ```
 */
export interface Fault {
  /**
   * How many matching requests get it: a whole number from 1, or `Infinity`, which lasts until `reset()`.
   * @defaultValue 1
   */
  times?: number | undefined
  /** Only requests of this method, in any case. All by default. */
  method?: string | undefined
  /** Only requests of this path: what follows `baseUrl`, without the query, or a pattern. All by default. */
  path?: string | RegExp | undefined
  /**
   * What they get instead of the answer:
   * - a `Response`, a fresh copy of it each time, or a function that makes one (what it throws, `fetch`
   *   rejects with). Nothing is applied, no key is remembered;
   * - `'network-error'`: no connection. It stands in `requests`, as it was sent, but is not applied;
   * - `'hang'`: the request is received, but neither applied nor ever answered. Ends when its signal aborts;
   * - `'truncate'`: the request is received and **applied**, but its answer breaks off: status, headers and
   *   half of the body come, then the body fails. A write whose answer was lost; repeated with its key, it is
   *   answered in full.
   */
  with: Response | (() => Response) | 'network-error' | 'hang' | 'truncate'
}

type Matcher = (request: ReceivedRequest) => boolean

/** The faults still to come, in the order given. */
export class FaultQueue {
  #faults: { left: number; matches: Matcher; with: Fault['with'] }[] = []

  add(fault: Fault): void {
    if (typeof fault !== 'object' || fault === null)
      throw new TypeError('fail: expected an object with `with`')
    const { times = 1 } = fault
    if (!(times === Infinity || (Number.isSafeInteger(times) && times >= 1))) {
      throw new TypeError('times: expected a whole number from 1, or Infinity')
    }
    checkOutcome(fault.with)
    this.#faults.push({ left: times, matches: matcher(fault), with: fault.with })
  }

  /** What this request gets instead of its answer; `undefined`: nothing goes wrong. */
  take(request: ReceivedRequest): Fault['with'] | undefined {
    const fault = this.#faults.find(fault => fault.matches(request))
    if (!fault) return undefined
    fault.left--
    if (fault.left === 0) this.#faults.splice(this.#faults.indexOf(fault), 1)
    return fault.with
  }

  clear(): void {
    this.#faults = []
  }
}

function checkOutcome(outcome: unknown): void {
  if (outcome === 'network-error' || outcome === 'hang' || outcome === 'truncate') return
  if (typeof outcome === 'function') return
  if (!isResponse(outcome)) {
    throw new TypeError(
      "with: expected a Response, a function giving one, 'network-error', 'hang' or 'truncate'",
    )
  }
  if (outcome.bodyUsed) {
    throw new TypeError(
      'with: expected a Response whose body is unread; give a function that makes a new one',
    )
  }
}

/** Not by instanceof: a test runner's page or sandbox may have a Response of its own. */
export function isResponse(value: unknown): value is Response {
  const { status, clone } = Object(value) as Partial<Response>
  return typeof status === 'number' && typeof clone === 'function'
}

function matcher({ method, path }: Fault): Matcher {
  if (method !== undefined && typeof method !== 'string') throw new TypeError('method: expected a string')
  const wantedMethod = method?.toUpperCase()
  const matchesPath = pathMatcher(path)
  return request =>
    (wantedMethod === undefined || request.method.toUpperCase() === wantedMethod) && matchesPath(request.path)
}

function pathMatcher(path: Fault['path']): (path: string) => boolean {
  if (path === undefined) return () => true
  if (path instanceof RegExp) {
    const pattern = new RegExp(path)
    return candidate => {
      // With the flags g and y a pattern starts where its last match ended.
      pattern.lastIndex = 0
      return pattern.test(candidate)
    }
  }
  const wanted = pathInUrl(path)
  return candidate => candidate === wanted
}
