import { isApiError } from 'virtual-accounts'

/** A failure in the words of the person at the screen. */
export interface Explanation {
  readonly title: string
  readonly advice: string
  /** How long the service asks to wait. */
  readonly waitMs?: number | undefined
  /** For whoever looks into it. */
  readonly details: string
}

export function explain(error: unknown): Explanation {
  const details = error instanceof Error ? error.message : String(error)
  if (!isApiError(error)) {
    return { title: 'Something is wrong with this page', advice: 'Reload it, and try again.', details }
  }
  switch (error.kind) {
    case 'connection':
      return {
        title: 'The connection to the service failed',
        advice: `Check your network connection, then try again. ${attempts(error.attempts)}`,
        details,
      }
    case 'timeout':
      return {
        title: 'The service takes too long to answer',
        advice: `Try again in a moment. ${attempts(error.attempts)}`,
        details,
      }
    case 'http':
      return { ...explainStatus(error.status), waitMs: error.retryAfterMs, details }
    case 'response':
      return {
        title: 'The service sent something unexpected',
        advice:
          'Rather than show you wrong figures, this page shows none. Tell whoever runs the service; trying again may help.',
        details,
      }
    case 'pagination':
      return {
        title: 'The list changed while it was read',
        advice: 'Some transactions may have been missed. Start again.',
        details,
      }
  }
}

function explainStatus(status: number): { title: string; advice: string } {
  if (status === 401 || status === 403) {
    return {
      title: 'The service refused the key',
      advice: 'Ask whoever runs this page to check its API key. Trying again will not help before that.',
    }
  }
  if (status === 429) {
    return {
      title: 'Too many requests',
      advice: 'The service asks for a pause. Nothing is lost: go on when it is over.',
    }
  }
  if (status >= 500) {
    return { title: 'The service is in trouble', advice: 'This is not your fault. Try again in a moment.' }
  }
  return {
    title: `The service refused the request (${status})`,
    advice: 'Check what you entered. If it is right, tell whoever runs this page.',
  }
}

function attempts(count: number): string {
  return count > 1 ? `It was tried ${count} times.` : ''
}
