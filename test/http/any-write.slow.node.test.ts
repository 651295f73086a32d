import { inspect } from 'node:util'
import fc from 'fast-check'
import { Client, type ClientEvent, type FetchInit, isApiError, type Result } from 'virtual-accounts'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { cases } from '../cases.ts'
import { checkEach } from '../support.ts'
import { soon } from './fault-server.ts'
import { apiKey, isStalling, kinds, openBodies, successes, WriteService } from './write-failures.ts'

vi.setConfig({ testTimeout: 300_000 })

const kind = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom(...successes) },
  { weight: 4, arbitrary: fc.constantFrom(...kinds) },
)
const plans = fc.record({
  /** For each attempt: how it fails, and whether the service applies the write where it may do either. */
  attempts: fc.array(fc.tuple(kind, fc.boolean()), { minLength: 4, maxLength: 4 }),
  operation: fc.constantFrom('deactivate' as const, 'reactivate' as const),
  maxRetries: fc.nat(3),
  hasShortTimeout: fc.nat(5).map(n => n === 0),
  ownKey: fc.boolean(),
  apiKeyFails: fc.option(fc.tuple(fc.constantFrom('rejects', 'hangs'), fc.integer({ min: 1, max: 4 })), {
    freq: 8,
  }),
  abort: fc.option(
    fc.tuple(
      fc.constantFrom('before the call', 'at an event', 'in fetch', 'later'),
      fc.integer({ min: 1, max: 6 }),
    ),
    { freq: 2 },
  ),
})
type Plan = typeof plans extends fc.Arbitrary<infer T> ? T : never

const realTimeout = setTimeout
beforeEach(() => {
  // The time limits and backoffs of the client pass 100 times as fast, the short delays of the servers as they are.
  vi.stubGlobal('setTimeout', (run: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) =>
    realTimeout(run, ms < 100 ? ms : ms / 100, ...given),
  )
})
afterEach(() => void vi.unstubAllGlobals())

function timeoutOf({ hasShortTimeout, attempts, apiKeyFails }: Plan): number {
  if (hasShortTimeout) return 500
  // Other attempts must not time out on a busy machine.
  return apiKeyFails?.[0] === 'hangs' || attempts.some(([kind]) => isStalling(kind)) ? 4000 : 1_000_000
}

const keyError = new Error('the vault is sealed')

type Outcome = { result: Result<unknown, string>; error?: never } | { result?: never; error: unknown }

/** Makes one call, and records what can be seen of it. */
async function run(service: WriteService, plan: Plan, number: number) {
  const { attempts, operation, maxRetries, ownKey } = plan
  const path = `/customers/c1/virtual_accounts/v${number}/${operation}`
  const keys: (string | undefined)[] = []
  const events: ClientEvent[] = []
  const controller = new AbortController()
  const { signal } = controller
  const [abortsWhen, abortsAt = 0] = plan.abort ?? []
  const abortAt = (when: string, count = abortsAt) => {
    if (when === abortsWhen && count === abortsAt)
      controller.abort(count % 2 ? `enough of ${number}` : undefined)
  }
  let isSentAfterAbort = false
  const fetch = (url: string, init: FetchInit) => {
    isSentAfterAbort ||= signal.aborted
    const [kind, may] = attempts[keys.length] as Plan['attempts'][number]
    keys.push(init.headers['idempotency-key'])
    try {
      return service.fetch(kind, may, ownKey, url, init) as Promise<Response>
    } finally {
      abortAt('in fetch', keys.length)
    }
  }
  let keyCalls = 0
  const getApiKey = () => {
    const [how, at] = plan.apiKeyFails ?? []
    if (++keyCalls !== at) return apiKey
    return how === 'hangs' ? new Promise<string>(() => {}) : Promise.reject(keyError)
  }
  const onEvent = (event: ClientEvent) => {
    events.push(event)
    if (event.type !== 'failure') abortAt('at an event', events.length)
  }
  const client = new Client({
    baseUrl: 'https://api.example.com',
    apiKey: getApiKey,
    fetch,
    onEvent,
    maxRetries,
    timeout: timeoutOf(plan),
    maxResponseBytes: 4000,
  })
  abortAt('before the call')
  if (abortsWhen === 'later') realTimeout(abortAt, 2 ** abortsAt, 'later')
  const outcome = await client.virtualAccounts[operation](
    { customerId: 'c1', virtualAccountId: `v${number}` },
    { signal, ...(ownKey ? { idempotencyKey: `write ${number}` } : {}) },
  ).then(
    (result): Outcome => ({ result }),
    (error: unknown): Outcome => ({ error }),
  )
  return { ...outcome, plan, number, path, keys, events, isSentAfterAbort, signal, isAborted: signal.aborted }
}

type Call = Awaited<ReturnType<typeof run>>

/** Checks what must hold for every call. */
function check({ plan, keys, events, ...call }: Call, applied: number): void {
  const [key] = keys
  expect(applied, 'how often it was applied').toBeLessThanOrEqual(1)
  expect(new Set(keys).size, 'number of keys').toBeLessThanOrEqual(1)
  if (plan.ownKey && key) expect(key).toBe(`write ${call.number}`)
  // A refusal is not a retry.
  const refusals = plan.attempts.slice(0, keys.length).filter(([kind]) => kind === '429').length
  expect(keys.length).toBeLessThanOrEqual(plan.maxRetries + 1 + refusals)
  expect(call.isSentAfterAbort, 'sent after the abort').toBe(false)
  expectNoApiKey(events)
  const { result, error } = call
  if (result) {
    expect(applied, 'how often it was applied').toBe(1)
    expect(result.idempotencyKey).toBe(key)
  } else if (error === keyError) {
    expect(applied, 'how often it was applied').toBe(0)
  } else {
    if (!isApiError(error)) throw new Error('no ApiError', { cause: error })
    if (error.kind === 'aborted') expect(error.cause).toBe(call.signal.reason)
    if (!error.outcomeUnknown) expect(applied, 'how often it was applied').toBe(0)
    expect(error.idempotencyKey).toEqual(key ?? expect.any(String))
    expect(error.message).not.toMatch(/[\r\n\u2028\u2029]/)
    expectNoApiKey(error)
  }
}

function expectNoApiKey(value: unknown): void {
  const { message = '' } = value as { message?: string }
  for (const text of [message, inspect(value, { depth: 20 }), JSON.stringify(value)]) {
    expect(text).not.toContain(apiKey)
    expect(text).not.toContain(encodeURIComponent(apiKey))
  }
}

const settledAs = ({ result, isAborted, error }: Call) =>
  result ? 'result' : isAborted ? 'abort' : isApiError(error) ? `unknown: ${error.outcomeUnknown}` : 'no key'

test('whatever a write meets, it is applied once at most, and its result or error is true', async () => {
  await using service = await WriteService.start()
  const queue = fc.sample(plans, cases(5000)).entries()
  const calls: Call[] = []
  const callOneByOne = async () => {
    for (const [number, plan] of queue) calls.push(await run(service, plan, number))
  }
  await Promise.all(Array.from({ length: 50 }, callOneByOne))
  // Waits for the last requests and late responses.
  await soon(50)

  await checkEach(
    calls.map(call => [call.plan, call] as const),
    ([, call]) => check(call, service.applied(call.path)),
  )
  expect(openBodies.size, 'bodies that were neither read nor cancelled').toBe(0)
  const sent = calls.filter(({ keys }) => keys.length > 0)
  expect(new Set(sent.map(({ keys }) => keys[0])).size, 'number of keys').toBe(sent.length)

  const met = sent.flatMap(({ plan, keys }) => plan.attempts.slice(0, keys.length).map(([kind]) => kind))
  expect(new Set(met)).toEqual(new Set(kinds))
  const settled = new Set(calls.map(settledAs))
  expect(settled).toEqual(new Set(['result', 'abort', 'unknown: true', 'unknown: false', 'no key']))
})
