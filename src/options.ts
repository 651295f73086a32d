import type { ClientEvent } from './events.js'
import { checkPath } from './path.js'

/** How the client asks: `fetch`, called with a URL string and a plain init. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** Settable on the client and again on each call. */
export interface Defaults {
  /**
   * For one attempt, headers and body, in milliseconds.
   * @defaultValue 60_000
   */
  timeout?: number | undefined
  /**
   * For the whole call, attempts and the waits between them, in milliseconds; on a walk, for each page.
   * @defaultValue 180_000
   */
  totalTimeout?: number | undefined
  /**
   * How often a call is tried again after the first attempt. 0 turns it off.
   * @defaultValue 2
   */
  maxRetries?: number | undefined
  /**
   * More headers, merged over the defaults, whatever the case of their names. `Api-Key` (unless `apiKey` is null),
   * `Idempotency-Key` and, on writes, another `Content-Type` are refused: there are options for them.
   */
  headers?: RequestInit['headers'] | undefined
  /**
   * How many pages a walk may have in flight at most. 1: one at a time.
   * @defaultValue 4
   */
  concurrency?: number | undefined
}

/** What a {@link Client} is made of. Only `baseUrl` and `apiKey` are required. */
export interface ClientOptions extends Defaults {
  /**
   * Where the service is: an absolute https URL, which may have a path; http on loopback only, unless
   * `allowInsecureHttp`. Or a path ('/api'), resolved against `location` at each call, in whatever scheme the page has.
   */
  baseUrl: string | URL
  /** A key, a function giving one (asked before every attempt), or null: none is sent (a proxy adds it). */
  apiKey: string | null | (() => string | Promise<string>)
  /**
   * Allows plain http beyond loopback: whoever is on the way can then read the key.
   * @defaultValue false
   */
  allowInsecureHttp?: boolean | undefined
  /**
   * The longest answer that is read, in bytes, counted after decompression.
   * @defaultValue 10_485_760 (10 MiB)
   */
  maxResponseBytes?: number | undefined
  /**
   * Asks instead of the global `fetch`, which is otherwise looked up at each call, so that patches made later are seen.
   * Never called with a Request.
   */
  fetch?: Fetch | undefined
  /**
   * Told what happens, for logs, metrics and traces. Never sees the key. What it throws or rejects with is swallowed.
   */
  onEvent?: ((event: ClientEvent) => void) | undefined
}

/** `Defaults` with every choice made; the headers as one plain record of lower-case names. */
export interface Settings {
  readonly timeout: number
  readonly totalTimeout: number
  readonly maxRetries: number
  readonly headers: Readonly<Record<string, string>>
  readonly concurrency: number
  /** No key is sent by `apiKey`: one may stand in `headers`. */
  readonly isKeyless: boolean
}

const initialSettings: Settings = {
  timeout: 60_000,
  totalTimeout: 180_000,
  maxRetries: 2,
  headers: { accept: 'application/json' },
  concurrency: 4,
  isKeyless: false,
}

const tenMebibytes = 10 * 1024 * 1024

/** What a client is after its options were checked. */
export interface Configuration {
  /** Without a slash at its end. */
  readonly baseUrl: string
  /** To be resolved against the page's location. */
  readonly isRelative: boolean
  readonly maxResponseBytes: number
  readonly fetch: Fetch | undefined
  readonly onEvent: ((event: ClientEvent) => void) | undefined
  readonly settings: Settings
}

/** Checks the options of a client but for `apiKey`. */
export function configure(options: ClientOptions): Configuration {
  const { allowInsecureHttp, maxResponseBytes = tenMebibytes, fetch, onEvent } = options
  if (allowInsecureHttp !== undefined && typeof allowInsecureHttp !== 'boolean') {
    throw new TypeError('allowInsecureHttp: expected true or false')
  }
  checkWhole('maxResponseBytes', maxResponseBytes, 1)
  checkFunction('fetch', fetch)
  checkFunction('onEvent', onEvent)
  const settings = override({ ...initialSettings, isKeyless: options.apiKey === null }, options)
  refuseContentType(settings)
  return {
    ...checkBaseUrl(options.baseUrl, allowInsecureHttp ?? false),
    maxResponseBytes,
    fetch,
    onEvent,
    settings,
  }
}

/** The settings with those replaced that are given; headers are merged. */
export function override(settings: Settings, given: Defaults): Settings {
  const { timeout, totalTimeout, maxRetries, headers, concurrency } = given
  checkDuration('timeout', timeout)
  checkDuration('totalTimeout', totalTimeout)
  if (maxRetries !== undefined) checkWhole('maxRetries', maxRetries, 0)
  if (concurrency !== undefined) checkWhole('concurrency', concurrency, 1)
  return {
    timeout: timeout ?? settings.timeout,
    totalTimeout: totalTimeout ?? settings.totalTimeout,
    maxRetries: maxRetries ?? settings.maxRetries,
    concurrency: concurrency ?? settings.concurrency,
    headers: headers === undefined ? settings.headers : mergeHeaders(settings, headers),
    isKeyless: settings.isKeyless,
  }
}

function checkBaseUrl(
  baseUrl: unknown,
  allowInsecureHttp: boolean,
): Pick<Configuration, 'baseUrl' | 'isRelative'> {
  const expected =
    'baseUrl: expected an absolute https URL ("https://api.example.com/v1") or a path ("/api"), as a string or URL'
  if (typeof baseUrl === 'string' && baseUrl.startsWith('/')) {
    checkPath('baseUrl', baseUrl)
    return { baseUrl: withoutSlash(baseUrl), isRelative: true }
  }
  // Not by instanceof: under Jest a URL may be of another realm.
  const text: unknown = typeof baseUrl === 'string' ? baseUrl : (Object(baseUrl) as Partial<URL>).href
  if (typeof text !== 'string' || !URL.canParse(text)) throw new TypeError(expected)
  const url = new URL(text)
  if (url.username || url.password)
    throw new TypeError('baseUrl: expected no user and password in it (use apiKey)')
  if (/[?#]/.test(url.href)) throw new TypeError('baseUrl: expected no query and no fragment')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new TypeError(expected)
  if (url.protocol === 'http:' && !allowInsecureHttp && !isLoopback(url.hostname)) {
    throw new TypeError(
      'baseUrl: expected https: over http the API key can be read on the way (allowInsecureHttp: true allows it)',
    )
  }
  return { baseUrl: withoutSlash(url.href), isRelative: false }
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '')
}

/** The URL parser has already written every form of an IPv4 address as four decimals. */
function isLoopback(host: string): boolean {
  return (
    host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(?:\.\d+){3}$/.test(host)
  )
}

/** The base for one call. */
export function resolveBaseUrl({ baseUrl, isRelative }: Configuration): string {
  if (!isRelative) return baseUrl
  const page: string = globalThis.location?.href ?? ''
  if (!/^https?:/.test(page)) {
    throw new TypeError(
      `baseUrl: expected an absolute URL, as there is no page here that "${baseUrl}/" could belong to`,
    )
  }
  return new URL(page).origin + baseUrl
}

/** Names differing in case are one, as `plainHeaders` has seen to. */
function mergeHeaders(settings: Settings, given: NonNullable<Defaults['headers']>): Settings['headers'] {
  const headers = plainHeaders(given)
  if ('api-key' in headers && !settings.isKeyless)
    throw new TypeError('headers: "Api-Key" is set by the option apiKey')
  if ('idempotency-key' in headers) {
    throw new TypeError('headers: "Idempotency-Key" is set by the option idempotencyKey of a call')
  }
  return { ...settings.headers, ...headers }
}

/** As one plain record of lower-case names, which any fetch takes. */
export function plainHeaders(given: unknown): Record<string, string> {
  const problem = new TypeError(
    'headers: expected Headers, an array of [name, value] or an object, each value a string that can be sent as a header',
  )
  if (typeof given !== 'object' || given === null) throw problem
  const pairs = Symbol.iterator in given ? [...(given as Iterable<unknown>)] : Object.entries(given)
  const checked = new Headers()
  for (const pair of pairs) {
    const [name, value, ...more] = Array.isArray(pair) ? (pair as unknown[]) : []
    if (more.length > 0 || typeof name !== 'string' || typeof value !== 'string') throw problem
    try {
      checked.append(name, value)
    } catch {
      // The runtime's own message would show the value.
      throw problem
    }
  }
  return Object.fromEntries(checked)
}

/** On writes the body is JSON, and the header says so. */
export function refuseContentType({ headers }: Pick<Settings, 'headers'>): void {
  const type = headers['content-type']
  if (type !== undefined && type.toLowerCase() !== 'application/json') {
    throw new TypeError('headers: a write is sent as "Content-Type: application/json"; expected no other')
  }
}

// Timers take no longer wait, and fire at once when given one.
const longestTimer = 2 ** 31 - 1

function checkDuration(name: string, value: unknown): void {
  if (value === undefined) return
  if (typeof value !== 'number' || !(value > 0 && value <= longestTimer)) {
    throw new TypeError(`${name}: expected milliseconds, more than 0 and at most ${longestTimer}`)
  }
}

/** Refuses what is not a whole number of at least `least`. */
export function checkWhole(name: string, value: unknown, least: number): void {
  if (!Number.isSafeInteger(value) || (value as number) < least) {
    throw new TypeError(`${name}: expected a whole number of at least ${least}`)
  }
}

/** Refuses what is given and no function. */
export function checkFunction(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') throw new TypeError(`${name}: expected a function`)
}

/** Refuses options that are no object; none are an empty one. */
export function checkObject<T extends object>(name: string, value: T | undefined): T | Record<string, never> {
  if (value === undefined) return {}
  // What is iterated holds its names elsewhere: a URLSearchParams would be taken for an empty object.
  if (typeof value !== 'object' || value === null || Symbol.iterator in value) {
    throw new TypeError(`${name}: expected a plain object`)
  }
  return value
}

/** Refuses what is given and no AbortSignal. */
export function checkSignal(signal: unknown): void {
  const { aborted, addEventListener } = Object(signal) as Partial<AbortSignal>
  if (signal !== undefined && (typeof aborted !== 'boolean' || typeof addEventListener !== 'function')) {
    throw new TypeError('signal: expected an AbortSignal')
  }
}
