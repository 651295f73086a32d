/** The delay of a `Retry-After` header in milliseconds; undefined if it is absent or neither seconds nor an HTTP date. */
export function parseRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after') ?? ''
  if (/^\d+(\.\d+)?$/.test(value)) return Math.min(Math.ceil(Number(value) * 1000), Number.MAX_SAFE_INTEGER)
  const until = parseHttpDate(value)
  if (until === undefined) return undefined
  // Against the service's own clock, as the one here may be wrong.
  const now = parseHttpDate(headers.get('date') ?? '') ?? Date.now()
  return Math.max(0, until - now)
}

// The three forms of RFC 9110: Date.parse alone takes "1" or "soon 5" for dates.
const httpDate = /^[A-Z][a-z]{2,8}, (\d\d)[ -][A-Z][a-z]{2}[ -]\d{2,4} \d\d:\d\d:\d\d GMT$/
const asctimeDate = /^[A-Z][a-z]{2} [A-Z][a-z]{2} ([ \d]\d) \d\d:\d\d:\d\d \d{4}$/

function parseHttpDate(value: string): number | undefined {
  const form = httpDate.exec(value)
  // The asctime form names no zone, and is GMT, too.
  const asctime = form ? null : asctimeDate.exec(value)
  const day = (form ?? asctime)?.[1]
  if (day === undefined) return undefined
  const date = new Date(asctime ? `${value} GMT` : value)
  // Date.parse takes 31 Nov for 1 Dec.
  return date.getUTCDate() === Number(day) ? date.getTime() : undefined
}
