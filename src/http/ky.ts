import ky, { type KyInstance } from 'ky'

export type { KyInstance }

/**
 * An attempt that failed. ky sees only this error: by `backoff` it decides whether to retry, and what a call rejects with
 * is taken from it again. ky would wrap an error that looks like one of its own, together with the request.
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

/** The ky instance of a client: docs/decisions/what-ky-does.md. */
export function createKy(): KyInstance {
  return ky.create({
    // One limit covers headers and body, and belongs to the attempt.
    timeout: false,
    throwHttpErrors: false,
    retry: {
      methods: ['get', 'post', 'put', 'patch', 'delete'],
      // Always a boolean: otherwise ky's own rules for status codes and headers apply.
      shouldRetry: ({ error }) => error instanceof AttemptFailure && error.backoff !== undefined,
      delay: () => 0,
    },
    hooks: {
      // ky's own delay can only be ended by a signal, and a signal costs as much as the rest of ky.
      beforeRetry: [({ error }) => (error as AttemptFailure).backoff?.()],
    },
  })
}
