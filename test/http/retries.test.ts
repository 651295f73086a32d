import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { account, apiErrorOf, checkEach, rejectionOf } from '../support.ts'
import {
  emptyPage,
  ok,
  outcomeOf,
  passing,
  type StubStep,
  status,
  stubbed,
  useFakeTime,
  write,
} from './stub.ts'

beforeEach(useFakeTime)
afterEach(() => void vi.useRealTimers())

/** The kinds of responses and failures that are retried, and those that are not. */
const transient = [408, 425, 500, 502, 503, 504, 506, 507, 508, 511, 520, 529, 599]
const final = [
  400, 401, 402, 403, 404, 405, 406, 410, 411, 413, 415, 418, 421, 422, 423, 424, 426, 428, 431, 451,
]

describe('the retry policy', () => {
  test('retries a write twice after 408, 425 and most 5xx, with the same key', async () => {
    await checkEach(transient, async code => {
      const { call, keys } = write([status(code)])
      const error = await apiErrorOf('http', call)
      expect(error).toMatchObject({ status: code, attempts: 3 })
      expect(keys()).toEqual(Array(3).fill(error.idempotencyKey))
    })
  })

  test('retries a list in the same way', async () => {
    await checkEach(transient, async code => {
      const { client, requests } = stubbed([status(code), emptyPage])
      expect((await passing(client.transactions.list())).totalItems).toBe(0)
      expect(requests).toHaveLength(2)
    })
  })

  test('does not retry other 4xx, whose outcome is known', async () => {
    await checkEach(final, async code => {
      const { call, requests } = write([status(code), ok])
      expect(outcomeOf(await apiErrorOf('http', call))).toEqual({
        kind: 'http',
        status: code,
        attempts: 1,
        outcomeUnknown: false,
      })
      expect(requests).toHaveLength(1)
    })
  })

  test('does not retry 501 and 505, as the service does not support the request', async () => {
    await checkEach([501, 505], async code => {
      const { call, requests } = write([status(code), ok])
      expect(await apiErrorOf('http', call)).toMatchObject({ status: code, attempts: 1 })
      expect(requests).toHaveLength(1)
    })
  })

  test('retries a connection that was lost or refused', async () => {
    await checkEach(['lost', 'refused'] as const, async step => {
      const { call, keys } = write([step, step, ok])
      const result = await call
      expect(result.attempts).toBe(3)
      expect(keys()).toEqual(Array(3).fill(result.idempotencyKey))
    })
  })

  test('makes maxRetries + 1 attempts at most', async () => {
    await checkEach([0, 1, 2, 5], async maxRetries => {
      for (const step of [status(503), 'lost', 'hang'] as const) {
        const { call, requests } = write([step], { maxRetries, timeout: 1000 })
        await call.catch(() => {})
        expect(requests).toHaveLength(maxRetries + 1)
      }
    })
  })

  test('takes maxRetries of the call rather than that of the client', async () => {
    await checkEach(
      [
        [5, 0],
        [0, 5],
        [undefined, 4],
      ],
      async ([ofClient, maxRetries]) => {
        const { client, requests } = stubbed([status(503)], { maxRetries: ofClient as number })
        const write = client.virtualAccounts.deactivate(account, { maxRetries: maxRetries as number })
        await apiErrorOf('http', passing(write))
        expect(requests).toHaveLength((maxRetries as number) + 1)
      },
    )
  })

  test('is the same for every method', async () => {
    await checkEach(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const, async method => {
      const { client, requests, keys } = stubbed([status(503), 'lost', ok])
      const { attempts, idempotencyKey } = await passing(client.request(method, '/a'))
      expect(attempts).toBe(3)
      expect(requests.map(({ init }) => init.method)).toEqual(Array(3).fill(method))
      expect(keys()).toEqual(Array(3).fill(idempotencyKey ?? null))
    })
  })
})

describe('a 409', () => {
  test('is retried after an attempt that may have been applied, as it then means “still being processed”', async () => {
    await checkEach<[after: string, step: StubStep]>(
      [
        ['a lost connection', 'lost'],
        ['a timeout', 'hang'],
        ['a 500', status(500)],
        ['a 503', status(503)],
        ['a 408', status(408)],
      ],
      async ([, step]) => {
        const { call, keys } = write([step, status(409), ok], { timeout: 1000 })
        const result = await call
        expect(result.attempts).toBe(3)
        expect(keys()).toEqual(Array(3).fill(result.idempotencyKey))
      },
    )
  })

  test('is not retried after an attempt that was not, as nothing can be in progress', async () => {
    await checkEach<[after: string, step: StubStep]>(
      [
        ['a 429', status(429)],
        ['a 425', status(425)],
        ['a refused connection', 'refused'],
      ],
      async ([, step]) => {
        const { call, requests } = write([step, status(409), ok])
        expect(outcomeOf(await apiErrorOf('http', call))).toEqual({
          kind: 'http',
          status: 409,
          attempts: 2,
          outcomeUnknown: false,
        })
        expect(requests).toHaveLength(2)
      },
    )
  })

  const idempotencyKey = 'payout-17'
  const writeWithKey = (steps: StubStep[], options: Parameters<typeof stubbed>[1] = {}) => {
    const service = stubbed(steps, options)
    const call = passing(service.client.virtualAccounts.deactivate(account, { idempotencyKey }))
    return { ...service, call }
  }

  test('is retried with the caller’s key, as another call with it may be in progress', async () => {
    const { call, keys } = writeWithKey([status(409), status(409), ok])
    expect((await call).attempts).toBe(3)
    expect(keys()).toEqual(Array(3).fill(idempotencyKey))
  })

  test('of a read is not retried: it has no key', async () => {
    const { client, requests } = stubbed([status(409), emptyPage])
    expect(await apiErrorOf('http', passing(client.transactions.list()))).toMatchObject({ status: 409 })
    expect(requests).toHaveLength(1)
  })

  test('leaves the outcome unknown, whatever the next attempt gets', async () => {
    await checkEach<[next: string, step: StubStep, expected: object]>(
      [
        ['a 409', status(409), { kind: 'http', status: 409 }],
        ['a 400', status(400), { kind: 'http', status: 400 }],
        ['a 404', status(404), { kind: 'http', status: 404 }],
        ['a 422', status(422), { kind: 'http', status: 422 }],
        ['a refused connection', 'refused', { kind: 'connection' }],
      ],
      async ([, step, expected]) => {
        const { call } = writeWithKey([status(409), step], { maxRetries: 1 })
        expect(await rejectionOf(call)).toMatchObject({ ...expected, attempts: 2, outcomeUnknown: true })
      },
    )
  })

  test('with a fresh key is not retried, and nothing is in progress', async () => {
    const { call, requests } = write([status(409), ok])
    const error = await apiErrorOf('http', call)
    expect(outcomeOf(error)).toEqual({ kind: 'http', status: 409, attempts: 1, outcomeUnknown: false })
    expect(requests).toHaveLength(1)
  })
})

describe('an apiKey function that throws after an attempt', () => {
  const sealed = new Error('the vault is sealed')
  const failingAfter = (calls: number) => {
    let called = 0
    return () => (called++ < calls ? Promise.resolve('a_key_of_the_vault') : Promise.reject(sealed))
  }

  test('does not hide that a write may have been applied', async () => {
    await checkEach<[after: string, step: StubStep, expected: object]>(
      [
        ['a lost connection', 'lost', { kind: 'connection' }],
        ['a 500', status(500), { kind: 'http', status: 500 }],
        ['a timeout', 'hang', { kind: 'timeout' }],
      ],
      async ([, step, expected]) => {
        const { call, keys, events } = write([step], { apiKey: failingAfter(1), timeout: 1000 })
        const error = await rejectionOf(call)
        expect(error).toMatchObject({ ...expected, attempts: 1, outcomeUnknown: true, cause: sealed })
        expect(error).toHaveProperty('idempotencyKey', keys()[0])
        expect(events.at(-1)).toMatchObject({ type: 'failure', error })
      },
    )
  })

  test('propagates unchanged when the write cannot have been applied', async () => {
    const { call } = write(['refused'], { apiKey: failingAfter(1) })
    await expect(call).rejects.toBe(sealed)
  })

  test('propagates unchanged for a list', async () => {
    const { client } = stubbed(['lost'], { apiKey: failingAfter(1) })
    await expect(passing(client.transactions.list())).rejects.toBe(sealed)
  })
})

describe('what a framework throws for control flow', () => {
  const controlFlow = Object.assign(new Error('DYNAMIC_SERVER_USAGE'), { digest: 'DYNAMIC_SERVER_USAGE' })

  test('passes unchanged, at once', async () => {
    const { call, requests, events } = write([controlFlow, ok])
    await expect(call).rejects.toBe(controlFlow)
    expect(requests).toHaveLength(1)
    expect(events.at(-1)).toMatchObject({ type: 'failure', error: controlFlow })
    await expect(write(['refused', controlFlow, ok]).call).rejects.toBe(controlFlow)
    const { client } = stubbed(['lost', controlFlow])
    await expect(passing(client.transactions.list())).rejects.toBe(controlFlow)
  })

  test('does not hide that a write may have been applied', async () => {
    const { call, keys } = write(['lost', controlFlow, ok])
    const error = await apiErrorOf('connection', call)
    expect(error).toMatchObject({ outcomeUnknown: true, idempotencyKey: keys()[0], cause: controlFlow })
    expect(error.message).toContain('Not retried: apiKey or fetch threw an error. See error.cause.')
  })

  test('is a ConnectionError if the body of a response fails with it', async () => {
    const cut = () => new Response(new ReadableStream({ start: controller => controller.error(controlFlow) }))
    expect(await apiErrorOf('connection', write([cut], { maxRetries: 0 }).call)).toMatchObject({
      outcomeUnknown: true,
    })
  })

  test('always has a string as its digest', async () => {
    const other = Object.assign(new Error('other'), { digest: 7 })
    expect((await write([other, ok]).call).attempts).toBe(2)
  })
})

test('a call leaves no timer behind, however it ended', async () => {
  const cut = () =>
    new Response(new ReadableStream({ start: controller => controller.error(new Error('cut')) }))
  for (const steps of [
    [ok],
    [status(404)],
    ['lost', ok],
    ['hang', ok],
    [cut],
    [status(503)],
  ] as StubStep[][]) {
    const { call } = write(steps, { timeout: 1000 })
    await call.catch(() => {})
    expect(vi.getTimerCount()).toBe(0)
  }
  const keyless = write([ok], { apiKey: () => Promise.reject(new Error('no key')) })
  await keyless.call.catch(() => {})
  expect(vi.getTimerCount()).toBe(0)
})
