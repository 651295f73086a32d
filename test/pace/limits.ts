/** How a service limits requests. */
export interface Limit {
  /**
   * - `bucket`: `burst` at once, refilled at the rate
   * - `fixed`, `sliding`: the rate times the window in each window
   * - `in-flight`: so many at the same time
   */
  readonly kind: 'bucket' | 'fixed' | 'sliding' | 'in-flight' | 'none'
  /** Requests a second; those in flight for `in-flight`. */
  readonly rate: number
  readonly burst?: number
  readonly windowMs?: number
}

/** Takes a request, or says after how many seconds it may be sent again. */
export type Limiter = (now: number, inFlight: number) => number | undefined

export function createLimiter({ kind, rate, burst = rate, windowMs = 1_000 }: Limit): Limiter {
  const quota = (rate * windowMs) / 1_000
  if (kind === 'fixed') {
    let window = -1
    let taken = 0
    return now => {
      const current = Math.floor(now / windowMs)
      if (current !== window) taken = 0
      window = current
      return taken++ < quota ? undefined : ((current + 1) * windowMs - now) / 1_000
    }
  }
  if (kind === 'sliding') {
    const taken: number[] = []
    return now => {
      while (taken.length > 0 && taken[0]! <= now - windowMs) taken.shift()
      if (taken.length < quota) return void taken.push(now)
      return (taken[0]! + windowMs - now) / 1_000
    }
  }
  if (kind === 'bucket') {
    let tokens = burst
    let filledAt = 0
    return now => {
      tokens = Math.min(burst, tokens + ((now - filledAt) * rate) / 1_000)
      filledAt = now
      if (tokens < 1 - 1e-9) return (1 - tokens) / rate
      tokens--
      return undefined
    }
  }
  if (kind === 'in-flight') return (_now, inFlight) => (inFlight < rate ? undefined : 1)
  return () => undefined
}

/** The time that so many calls take at least, so many at a time, in milliseconds. */
export function idealMs(limit: Limit, latency: number, calls: number, atATime: number): number {
  const { kind, rate, burst = rate, windowMs = 1_000 } = limit
  const byCalls = Math.ceil(calls / Math.min(atATime, calls)) * latency
  const byLimit = {
    none: 0,
    'in-flight': Math.ceil(calls / rate) * latency,
    bucket: (Math.max(0, calls - burst) / rate) * 1_000 + latency,
    fixed: Math.floor((calls - 1) / ((rate * windowMs) / 1_000)) * windowMs + latency,
    sliding: Math.floor((calls - 1) / ((rate * windowMs) / 1_000)) * windowMs + latency,
  }
  return Math.max(byCalls, byLimit[kind])
}
