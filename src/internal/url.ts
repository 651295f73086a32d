import { assertObject, isExactNumber } from './arguments.js'
import { describe, environmentHint, madeByBug, wrongArgument } from './describe.js'
import { property } from './object.js'

type QueryValue = string | number | boolean

/** Query parameters by name. `undefined` omits a parameter. An array repeats its name, and must not be empty. */
export type Query = { readonly [name: string]: QueryValue | readonly QueryValue[] | undefined }

/** Encodes an id as exactly one segment of a path. */
export function encodePathSegment(name: string, id: unknown, hint = ''): string {
  const isText = typeof id === 'string' && id !== '' && id.trim() === id && id.isWellFormed()
  if (!isText || madeByBug.test(id))
    throw wrongArgument(name, 'an id, a string without white space around it', id, hint)
  return encodeURIComponent(id)
}

/** Throws for a path that the URL parser would change, because the request would go elsewhere. */
export function assertPath(name: string, path: unknown): asserts path is string {
  const advice = name === 'path' ? ' (pass `query`, and encode ids with encodeURIComponent)' : ''
  const expected = `a path that starts with one "/", without ".." or query${advice}`
  if (typeof path !== 'string' || !/^\/(?!\/)/.test(path)) throw wrongArgument(name, expected, path)
  const bug = path.split('/').find(segment => madeByBug.test(segment))
  if (bug !== undefined) throw new TypeError(`${name}: ${describe(bug)} is not a valid id`)
  if (new URL(path, 'https://path.invalid').pathname !== path) throw wrongArgument(name, expected, path)
}

/** `a=1&b=2`, or an empty string for no parameters. */
export function toQueryString(given: Query | undefined): string {
  const pairs: string[] = []
  for (const [name, value] of Object.entries(assertObject('query', given))) {
    const values = (Array.isArray(value) ? value : [value]).filter(single => single !== undefined)
    // A filter without values would select everything.
    if (values.length === 0 && value !== undefined)
      throw wrongArgument(`query.${name}`, 'an array with a value, or undefined for no filter', value)
    for (const single of values) {
      const isValue = typeof single === 'string' || typeof single === 'boolean' || isExactNumber(single)
      if (!isValue || !`${name}${single}`.isWellFormed()) {
        const expected =
          'a string, an exact number (at most 2^53 - 1 if whole), a boolean, or an array of these'
        throw wrongArgument(`query.${name}`, expected, single)
      }
      pairs.push(`${encodeURIComponent(name)}=${encodeURIComponent(single as QueryValue)}`)
    }
  }
  return pairs.join('&')
}

/** The URL parser normalizes every form of an IPv4 address to four decimals. */
const loopback = /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/

/** The option `baseUrl` after checks, an absolute URL or a path. It has no slash at its end, unless it is "/". */
export function parseBaseUrl(given: unknown, allowInsecureHttp: boolean): string {
  // Without instanceof, because under Jest a URL belongs to another realm.
  let url = typeof given === 'string' ? given : String(property(given, 'href'))
  if (url.startsWith('/')) assertPath('baseUrl', url)
  else {
    const [isUrl, path = '/'] = /^https?:\/\/[^/?#\\\s@]+(\/[^?#]*)?$/i.exec(url) ?? []
    // The URL parser would repair the path, so requests would go elsewhere.
    if (!isUrl || !URL.canParse(url) || new URL(url).pathname !== path) {
      const expected =
        'an absolute https URL ("https://api.example.com/v1") or a path ("/api"), without user, query, fragment, quotes or white space'
      const hint =
        environmentHint(given) ||
        (url.includes('://')
          ? ''
          : ` (is ${/^(?:localhost|127\.)/.test(url) ? 'http' : 'https'}:// missing?)`)
      throw wrongArgument('baseUrl', expected, given, hint)
    }
    const { protocol, hostname, href } = new URL(url)
    if (protocol === 'http:' && !allowInsecureHttp && !loopback.test(hostname))
      throw new TypeError(
        `baseUrl: expected https. Over http, anyone on the network can read the API key. Try ${url.replace(/^http/i, 'https')}, or pass allowInsecureHttp: true`,
      )
    url = href
  }
  return url.replace(/(?<=.)\/+$/, '')
}

export function resolveBaseUrl(baseUrl: string): string {
  if (/^https?:/.test(baseUrl)) return baseUrl
  const location = String(property(property(globalThis, 'location'), 'href') ?? '')
  if (!/^https?:/.test(location)) {
    throw new TypeError(
      `baseUrl: "${baseUrl}" only works in a web page. Elsewhere, pass an absolute URL (server rendering?)`,
    )
  }
  return new URL(baseUrl, location).href.replace(/\/$/, '')
}
