import { environmentHint, wrongArgument } from './describe.js'
import { assertObject } from './validate.js'

type QueryValue = string | number | boolean

/** Query parameters by name. `undefined` leaves a parameter out, an array repeats its name. */
export type Query = { readonly [name: string]: QueryValue | readonly QueryValue[] | undefined }

/** The text of a missing id or key: "undefined", "[object Object]". */
export const madeByBug: RegExp = /^(?:undefined|null|NaN|(?:\[|%5B)object(?: |%20)\w+(?:\]|%5D))$/

/** An id as one segment of a path. It stays one segment, whatever it contains. */
export function encodePathSegment(name: string, id: unknown): string {
  if (typeof id !== 'string' || id === '') throw wrongArgument(name, 'a non-empty string', id)
  // Encoding leaves dots unchanged, and the URL parser would resolve them.
  if (/^\.\.?$/.test(id) || madeByBug.test(id)) throw new TypeError(`${name}: expected an id, got "${id}"`)
  if (id.trim() !== id) throw new TypeError(`${name}: expected no white space at either end`)
  if (!id.isWellFormed()) throw new TypeError(`${name}: expected well-formed Unicode, got a lone surrogate`)
  return encodeURIComponent(id)
}

/** Throws for a path that the URL parser would change: the request would go elsewhere than written. */
export function assertPath(name: string, path: unknown): asserts path is string {
  const isPath = typeof path === 'string' && /^\/(?!\/)/.test(path)
  const bug = isPath && path.split('/').find(segment => madeByBug.test(segment))
  if (bug) throw new TypeError(`${name}: expected an id, got "${bug}" in it`)
  if (isPath && new URL(path, 'https://path.invalid').pathname === path) return
  throw wrongArgument(
    name,
    'a path as in a URL: one "/" at its start, ids through encodeURIComponent, no "..", and no query (pass `query`)',
    path,
  )
}

/** `a=1&b=2`, or an empty string for no parameters. */
export function toQueryString(given: Query | undefined): string {
  const pairs: string[] = []
  for (const [name, value] of Object.entries(assertObject('query', given))) {
    for (const single of Array.isArray(value) ? value : [value]) {
      if (single === undefined) continue
      const isValue = typeof single === 'string' || typeof single === 'boolean' || Number.isFinite(single)
      if (!isValue || !`${name}${single}`.isWellFormed()) {
        const expected = 'well-formed text, a finite number, a boolean, or an array of these'
        throw wrongArgument(`query.${name}`, expected, single)
      }
      pairs.push(`${encodeURIComponent(name)}=${encodeURIComponent(single as QueryValue)}`)
    }
  }
  return pairs.join('&')
}

/** The URL parser has already written every form of an IPv4 address as four decimals. */
const loopback = /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/

/** The option `baseUrl` after checks, without a slash at its end: an absolute URL or a path. */
export function parseBaseUrl(given: unknown, allowInsecureHttp: boolean): string {
  if (typeof given === 'string' && given.startsWith('/')) {
    assertPath('baseUrl', given)
    return withoutTrailingSlash(given)
  }
  // Not by instanceof: under Jest a URL is of another realm.
  const text = typeof given === 'string' ? given : String((Object(given) as Partial<URL>).href)
  const match = /^https?:\/\/[^/?#\\\s@]+(\/[^?#]*)?$/i.exec(text)
  // The URL parser would repair a path, and lead elsewhere.
  if (!match || !URL.canParse(text) || new URL(text).pathname !== (match[1] ?? '/')) {
    const expected =
      'an absolute https URL ("https://api.example.com/v1") or a path ("/api"), without user, query or fragment'
    const mistake = typeof given === 'string' && mistakeIn(given)
    if (mistake) throw new TypeError(`baseUrl: expected ${expected}, got ${mistake}`)
    throw wrongArgument('baseUrl', expected, given, given ? '' : environmentHint)
  }
  const { protocol, hostname, href } = new URL(text)
  if (protocol === 'http:' && !allowInsecureHttp && !loopback.test(hostname)) {
    throw new TypeError(
      'baseUrl: expected https, as over http anyone on the network can read the API key (allowInsecureHttp: true allows it)',
    )
  }
  return withoutTrailingSlash(href)
}

/** What usually comes from a file of settings. The text itself is not shown, as it may hold a password. */
function mistakeIn(url: string): string | undefined {
  if (madeByBug.test(url)) return `"${url}"${environmentHint}`
  if (url.trim() !== url) return url.trim() && 'one with white space around it'
  return /^(["'`]).*\1$/.test(url) ? 'one in quotes' : undefined
}

function withoutTrailingSlash(url: string): string {
  return url.replace(/\/+$/, '')
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
