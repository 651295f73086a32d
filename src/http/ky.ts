import ky, { type KyInstance } from 'ky'

/**
 * An attempt that failed. ky sees only this error: `backoff` says whether to retry, and the call runner takes `reason` out
 * again. ky would wrap an error that looks like one of its own, together with the request.
 */
export class AttemptFailure extends Error {
  /** What the call rejects with if this attempt was the last. */
  readonly reason: unknown
  /** Waits before the next attempt; `undefined`: there is none. */
  readonly backoff: (() => Promise<void>) | undefined

  constructor(reason: unknown, backoff?: () => Promise<void>) {
    super('attempt failed')
    this.reason = reason
    this.backoff = backoff
  }
}

/** Runs the attempts of a call: docs/decisions/what-ky-does.md. */
export const runAttempts: KyInstance = /* @__PURE__ */ ky.create({
  // One limit covers headers and body, and belongs to the attempt.
  timeout: false,
  throwHttpErrors: false,
  retry: {
    // A failed attempt says itself whether there is another one.
    limit: Number.MAX_SAFE_INTEGER,
    methods: ['get', 'post', 'put', 'patch', 'delete'],
    shouldRetry: waitForBackoff,
    // ky's own delay can only be ended by a signal, and a signal costs as much as the rest of ky.
    delay: () => 0,
  },
})

/** Always resolves to a boolean: otherwise ky's own rules for status codes and headers apply. */
async function waitForBackoff({ error }: { readonly error: Error }): Promise<boolean> {
  if (!(error instanceof AttemptFailure) || error.backoff === undefined) return false
  await error.backoff()
  return true
}
