import { oddityOf } from './api-key.js'
import { environmentHint, wrongArgument } from './describe.js'

/** Value of a query parameter. */
export type QueryValue = string | number | boolean

/** Query parameters by name. `undefined` leaves a parameter out, an array repeats its name. */
export type Query = { readonly [name: string]: QueryValue | readonly QueryValue[] | undefined }

/** What a bug makes of a missing id. */
const madeByBug = /^(?:undefined|null|NaN|\[object \w+\]|)$/

/** An id as one segment of a path. It stays one segment, whatever it contains. */
export function encodePathSegment(name: string, id: unknown): string {
  if (typeof id !== 'string' || id === '') {
    throw wrongArgument(name, 'a non-empty string', id)
  }
  // Encoding leaves dots unchanged, and the URL parser would resolve them.
  if (id === '.' || id === '..' || madeByBug.test(id))
    throw new TypeError(`${name}: expected an id, got "${id}"`)
  if (id.trim() !== id) throw new TypeError(`${name}: expected no white space at either end`)
  if (!id.isWellFormed()) throw new TypeError(`${name}: expected well-formed Unicode, got a lone surrogate`)
  return encodeURIComponent(id)
}

/** Throws for a path that would not arrive as it is written. */
export function assertPath(name: string, path: unknown): asserts path is string {
  const expected = 'a path that starts with one "/"'
  if (typeof path !== 'string') throw wrongArgument(name, expected, path)
  if (!/^\/(?!\/)/.test(path)) {
    throw new TypeError(`${name}: expected ${expected}, got ${JSON.stringify(path.slice(0, 60))}`)
  }
  const [, ...segments] = withoutTrailingSlash(path).split('/')
  const isPlaceholder = (segment: string) => name !== 'route' && /^:|[<>{}]/.test(segment)
  const bug = segments.find(segment => madeByBug.test(segment) || isPlaceholder(segment))
  if (bug !== undefined) {
    throw new TypeError(`${name}: expected an id, got ${JSON.stringify(bug.slice(0, 60))} in it`)
  }
  assertArrivesAsWritten(name, path)
}

/** Throws for what the URL parser would silently repair: requests would go elsewhere than written. */
function assertArrivesAsWritten(name: string, text: string): void {
  const refuse = (expected: string) => new TypeError(`${name}: expected ${expected}`)
  if (/[?#]/.test(text)) {
    throw refuse(`no query or fragment${name === 'path' ? ' (pass `query` instead)' : ''}`)
  }
  if (/[\\\s\p{Cc}]/u.test(text)) throw refuse('no backslashes, white space or control characters')
  if (/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(text)) throw refuse('no "." or ".." segments')
  if (!text.isWellFormed()) throw refuse('well-formed Unicode')
}

/** `?a=1&b=2`, or an empty string for no parameters. */
export function toQueryString(query: Query): string {
  const pairs: string[] = []
  for (const [name, value] of Object.entries(query)) {
    for (const single of Array.isArray(value) ? value : [value]) {
      if (single === undefined) continue
      assertQueryValue(name, single)
      if (!`${name}${single}`.isWellFormed())
        throw new TypeError(`query.${name}: expected well-formed Unicode`)
      pairs.push(`${encodeURIComponent(name)}=${encodeURIComponent(single)}`)
    }
  }
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

function assertQueryValue(name: string, value: unknown): asserts value is QueryValue {
  if (typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)) return
  throw wrongArgument(`query.${name}`, 'a string, a finite number, a boolean, or an array of these', value)
}

const absoluteUrlOrPath = 'an absolute https URL ("https://api.example.com/v1") or a path ("/api")'

/** The option `baseUrl` after checks, without a slash at its end: an absolute URL or a path. */
export function parseBaseUrl(given: unknown, allowInsecureHttp: boolean): string {
  if (typeof given === 'string' && given.startsWith('/')) {
    assertPath('baseUrl', given)
    return withoutTrailingSlash(given)
  }
  // Not by instanceof: under Jest a URL is of another realm.
  const text: unknown = typeof given === 'string' ? given : (Object(given) as Partial<URL>).href
  if (typeof text !== 'string' || text === '') {
    throw wrongArgument('baseUrl', absoluteUrlOrPath, given, given ? '' : environmentHint)
  }
  const [hostAndPort] = /^[\w.-]+:\d+(?=\/|$)/.exec(text) ?? []
  if (hostAndPort !== undefined) {
    const scheme = /^(?:localhost|127\.)/.test(hostAndPort) ? 'http' : 'https'
    throw new TypeError(`baseUrl: expected a scheme before the host: "${scheme}://${hostAndPort}"`)
  }
  if (/^https?:\/\/(?:\/|https?:|[^/]*[${}<>])/i.test(text)) {
    throw new TypeError(
      'baseUrl: expected the host of the service (a placeholder in it, or "https://" twice?)',
    )
  }
  const hasScheme = /^\s*https?:\/\//i.test(text)
  if (!hasScheme || !URL.canParse(text)) {
    const got = hasScheme
      ? 'a URL whose host or port is not valid'
      : `a string that is neither (${oddityOf(text) ?? 'is "https://" missing?'})`
    throw new TypeError(`baseUrl: expected ${absoluteUrlOrPath}, got ${got}`)
  }
  const url = new URL(text)
  if (url.username || url.password || /^[^/?#]*\/\/[^/?#]*@/.test(text)) {
    throw new TypeError('baseUrl: expected no user or password in it (pass `apiKey` instead)')
  }
  assertArrivesAsWritten('baseUrl', text)
  if (url.protocol === 'http:' && !allowInsecureHttp && !isLoopback(url.hostname)) {
    throw new TypeError(
      'baseUrl: expected https, as over http anyone on the network can read the API key (allowInsecureHttp: true allows it)',
    )
  }
  return withoutTrailingSlash(url.href)
}

function withoutTrailingSlash(url: string): string {
  return url.replace(/\/+$/, '')
}

/** The URL parser has already written every form of an IPv4 address as four decimals. */
export function isLoopback(host: string): boolean {
  return (
    host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(?:\.\d+){3}$/.test(host)
  )
}

export function resolveBaseUrl(baseUrl: string): string {
  if (/^https?:/.test(baseUrl)) return baseUrl
  const location: string = globalThis.location?.href ?? ''
  if (!/^https?:/.test(location)) {
    throw new TypeError(
      `baseUrl: expected an absolute URL, as "${baseUrl || '/'}" only works in a web page, and this is not one (server rendering?)`,
    )
  }
  return new URL(location).origin + baseUrl
}
