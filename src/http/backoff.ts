/** The delay after an attempt. It starts at 0.5 s and doubles each time up to 8 s, with jitter. */
export function backoffMs(attempt: number): number {
  return Math.min(8_000, 500 * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2)
}

/** The delay of a `Retry-After` header, in milliseconds. `undefined` if it is absent, or neither seconds nor an HTTP date. */
export function parseRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after') ?? ''
  if (/^\d+(\.\d+)?$/.test(value)) return Math.min(Math.ceil(Number(value) * 1000), Number.MAX_SAFE_INTEGER)
  const until = parseHttpDate(value)
  // Relative to the service's clock, because the local one may be wrong.
  const now = parseHttpDate(headers.get('date') ?? '') ?? Date.now()
  return until === undefined ? undefined : Math.max(0, until - now)
}

// Date.parse alone accepts "1" and "soon 5" as dates.
const httpDate = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/

function parseHttpDate(value: string): number | undefined {
  const time = httpDate.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}
