/** What a query parameter may be; an array repeats the name. */
export type QueryValue = string | number | boolean

/** Query parameters by name. `undefined` leaves one out, an array repeats its name. */
export type Query = { readonly [name: string]: QueryValue | readonly QueryValue[] | undefined }

/** One segment of a path from an id of the caller's: it stays one segment, whatever it holds. */
export function segment(name: string, id: unknown): string {
  if (typeof id !== 'string' || id === '') throw new TypeError(`${name}: expected a non-empty string`)
  // Encoding leaves dots as they are, and the URL parser would climb on them.
  if (id === '.' || id === '..') throw new TypeError(`${name}: expected an id, not "${id}"`)
  if (!id.isWellFormed())
    throw new TypeError(`${name}: expected well-formed Unicode (it has a lone surrogate)`)
  return encodeURIComponent(id)
}

/** Refuses a path that would not arrive as it is written. */
export function checkPath(name: string, path: unknown): asserts path is string {
  const expected = (what: string) => new TypeError(`${name}: expected ${what}`)
  if (typeof path !== 'string' || !/^\/(?!\/)/.test(path)) throw expected('a path that starts with one "/"')
  if (/[?#]/.test(path)) throw expected('a path without query and fragment (there is `query`)')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\\\x00-\x20\x7f]/.test(path)) {
    throw expected('a path without backslashes, white space and control characters')
  }
  if (/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(path)) throw expected('a path without "." and ".." segments')
  if (!path.isWellFormed()) throw expected('well-formed Unicode')
}

/** `?a=1&b=2`, or nothing where there is nothing to send. */
export function queryString(query: Query): string {
  const pairs: string[] = []
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined) pairs.push(`${encode(name, name)}=${encode(name, checkQueryValue(name, one))}`)
    }
  }
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

function checkQueryValue(name: string, value: unknown): string {
  if (typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)) return String(value)
  throw new TypeError(`query.${name}: expected a string, a finite number, a boolean, or an array of these`)
}

function encode(name: string, text: string): string {
  if (!text.isWellFormed()) throw new TypeError(`query.${name}: expected well-formed Unicode`)
  return encodeURIComponent(text)
}
