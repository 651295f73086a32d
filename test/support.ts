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

/** Checks a rule for each case, one after the other. The failure names the case. */
export async function checkEach<C>(cases: readonly C[], check: (given: C) => unknown): Promise<void> {
  for (const given of cases) await checkOne(given, check)
}

/** Checks a rule for all cases in parallel, as each waits for a server or a process. The failure names the case. */
export async function checkInParallel<C>(
  cases: readonly C[],
  check: (given: C) => Promise<unknown>,
): Promise<void> {
  await Promise.all(cases.map(given => checkOne(given, check)))
}

async function checkOne<C>(given: C, check: (given: C) => unknown): Promise<void> {
  try {
    await check(given)
  } catch (cause) {
    const name = Array.isArray(given) ? given[0] : given
    throw new Error(`in the case ${nameOf(name)}: ${(cause as Error)?.message ?? cause}`, { cause })
  }
}

function nameOf(value: unknown): string {
  if (typeof value === 'string') return `"${value}"`
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}
