import { type HttpError, isApiError } from 'virtual-accounts'

/** A failure in words for the person at the screen. */
export interface Explanation {
  readonly title: string
  readonly advice: string
  /** Whether a retry without changes can succeed. */
  readonly isRetryable: boolean
  /** Only a different request can succeed, so there is no retry button. */
  readonly isFinal?: boolean
  /** The delay that the service asks for. */
  readonly waitMs?: number | undefined
  /** For whoever investigates it. */
  readonly details: string
}

export function explain(error: unknown): Explanation {
  const details = error instanceof Error ? error.message : String(error)
  if (error instanceof AddressError) {
    return {
      title: 'The address of this page is wrong',
      advice: 'Put a path after “service=”, such as /api.',
      isRetryable: false,
      details,
    }
  }
  if (!isApiError(error)) {
    return {
      title: 'Something is wrong with this page',
      advice: 'This looks like a bug. Tell whoever runs the page. The details help them.',
      isRetryable: false,
      details,
    }
  }
  switch (error.kind) {
    case 'connection':
      return {
        title: 'The connection to the service failed',
        advice: `Check your network connection, then try again.${attempts(error.attempts)}`,
        isRetryable: true,
        details,
      }
    case 'timeout':
      return {
        title: 'The service did not respond in time',
        advice: `Try again in a moment.${attempts(error.attempts)}`,
        isRetryable: true,
        details,
      }
    case 'aborted':
      return { title: 'The request was cancelled', advice: 'Try again.', isRetryable: true, details }
    case 'http':
      return { ...explainHttp(error), waitMs: error.retryAfterMs, details }
    case 'invalid-response':
      return {
        title: 'The service sent something unexpected',
        advice:
          'The response does not match the specification, so none of it is used. Tell whoever runs the service.',
        isRetryable: false,
        details,
      }
    case 'pagination':
      return {
        title: 'The list may be incomplete',
        advice:
          'It changed too much while it was read, or its pages contradict each other. Start over. If that fails again, tell whoever runs the service.',
        isRetryable: true,
        details,
      }
  }
}

function explainHttp({ status, path }: HttpError): Omit<Explanation, 'waitMs' | 'details'> {
  if (status === 404 && path.startsWith('/customers/')) {
    return { title: 'No such account', advice: 'Correct the ids above.', isRetryable: false, isFinal: true }
  }
  if (status === 401 || status === 403) {
    return {
      title: 'The service rejected the API key',
      advice: 'Ask whoever runs this page to check it, then try again.',
      isRetryable: false,
    }
  }
  if (status === 429) {
    return {
      title: 'Too many requests',
      advice: 'The service asks this page to slow down.',
      isRetryable: true,
    }
  }
  if (status >= 500) {
    return {
      title: 'The service has a problem',
      advice: 'This is not your fault. Try again in a moment.',
      isRetryable: true,
    }
  }
  return {
    title: `The service rejected the request (${status})`,
    advice: 'Tell whoever runs this page. The details help them.',
    isRetryable: false,
  }
}

function attempts(count: number): string {
  return count > 1 ? ` The client tried ${count} times.` : ''
}

/** The URL of the page is wrong, so reloading it cannot help. */
export class AddressError extends Error {}
