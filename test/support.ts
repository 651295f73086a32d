import { type AnyApiError, isApiError } from 'virtual-accounts'
import { expect } from 'vitest'

export const account = { customerId: 'c1', virtualAccountId: 'v1' }

/** What a promise rejects with. */
export async function rejectionOf(promise: PromiseLike<unknown>): Promise<unknown> {
  const fulfilled = Symbol('fulfilled')
  const outcome = await promise.then(
    () => fulfilled,
    (error: unknown) => error,
  )
  if (outcome === fulfilled) throw new Error('expected a rejection')
  return outcome
}

/** The ApiError of this kind that a call rejects with. */
export async function apiErrorOf<K extends AnyApiError['kind']>(
  kind: K,
  promise: PromiseLike<unknown>,
): Promise<Extract<AnyApiError, { kind: K }>> {
  const error = await rejectionOf(promise)
  if (!isApiError(error)) throw new Error('expected an ApiError', { cause: error })
  expect(error.kind, error.message).toBe(kind)
  return error as Extract<AnyApiError, { kind: K }>
}

/** The abort reason of a call that rejects with an AbortError. */
export async function abortReasonOf(promise: PromiseLike<unknown>): Promise<unknown> {
  return (await apiErrorOf('aborted', promise)).cause
}

/** Checks a rule for each case, one after the other. The failure names all cases that break it. */
export async function checkEach<const C>(cases: readonly C[], check: (given: C) => unknown): Promise<void> {
  const failures: unknown[] = []
  for (const given of cases) failures.push(await failureOf(given, check))
  throwFirst(failures)
}

/** Checks a rule for all cases in parallel, as each waits for a server or a process. */
export async function checkInParallel<const C>(
  cases: readonly C[],
  check: (given: C) => Promise<unknown>,
): Promise<void> {
  throwFirst(await Promise.all(cases.map(given => failureOf(given, check))))
}

async function failureOf<C>(given: C, check: (given: C) => unknown): Promise<Error | undefined> {
  try {
    await check(given)
    return undefined
  } catch (cause) {
    const name = nameOf(Array.isArray(given) ? given[0] : given)
    return new Error(`${name}: ${(cause as Error)?.message ?? cause}`, { cause })
  }
}

/** Throws the first failure, with the messages of all. */
function throwFirst(failures: readonly unknown[]): void {
  const errors = failures.filter(failure => failure instanceof Error)
  if (errors.length === 0) return
  const messages = errors.map(({ message }) => message).join('\n')
  throw new Error(`the rule is broken by ${errors.length} of ${failures.length} cases:\n${messages}`, {
    cause: errors[0]?.cause,
  })
}

function nameOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}
