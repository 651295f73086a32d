import fc from 'fast-check'
import { AbortError, Client, type ClientOptions } from 'virtual-accounts'
import { describe, expect, test } from 'vitest'
import { cases } from '../cases.ts'
import { anything, baseUrl, clientWith, collectAll, expectDocumented, isMisuse, settle } from '../http/any.ts'
import { apiKey } from '../http/stub.ts'
import { account } from '../support.ts'

describe('whatever it is called with', () => {
  const any = fc.anything({
    withNullPrototype: true,
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
  })
  const ok = async () => new Response('{"data":[],"page":1,"totalItems":0,"limit":20}')

  /** An object with some of these fields, right and wrong ones. */
  const some = (fields: Record<string, fc.Arbitrary<unknown>>) =>
    fc.record(
      Object.fromEntries(Object.entries(fields).map(([name, right]) => [name, fc.oneof(right, any)])),
      { requiredKeys: [] },
    )

  const settings = {
    timeout: fc.double({ min: 1, max: 1000 }),
    totalTimeout: fc.double({ min: 1, max: 1000 }),
    maxRetries: fc.nat(3),
    headers: fc.dictionary(fc.string(), fc.string()),
  }
  const concurrency = fc.integer({ min: 1, max: 5 })
  const clientOptions = some({
    ...settings,
    concurrency,
    baseUrl: fc.constantFrom(baseUrl, '/api', 'http://localhost:1'),
    apiKey: fc.oneof(
      fc.string(),
      fc.constant(null),
      any.map(value => () => value),
    ),
    allowInsecureHttp: fc.boolean(),
    maxResponseBytes: fc.nat(100),
    fetch: fc.constant(ok),
    onEvent: fc.constant(() => {}),
  })
  const callOptions = {
    ...settings,
    signal: fc.constant(new AbortController().signal),
    schema: fc.constant(anything),
  }
  const ofWrites = { ...callOptions, idempotencyKey: fc.string(), body: fc.jsonValue() }
  const query = fc.dictionary(
    fc.string(),
    fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.array(fc.string())),
  )
  const writeOptions = some(ofWrites)
  const requestOptions = some({ ...ofWrites, query })
  const listOptions = some({
    ...callOptions,
    concurrency,
    maxItems: fc.nat(5),
    itemKey: fc.constant((item: unknown) => item),
    onMissedItems: fc.constantFrom('throw', 'continue'),
    verified: fc.boolean(),
  })
  const params = some({
    page: fc.integer({ min: 1, max: 3 }),
    limit: fc.integer({ min: 1, max: 3 }),
    query: any,
  })

  /** What `make` returns, or `undefined` if it throws for misuse, as it may. */
  function orMisuse<T>(make: () => T): T | undefined {
    try {
      return make()
    } catch (error) {
      if (!isMisuse(error)) throw new Error('thrown, but not as misuse', { cause: error })
      return undefined
    }
  }

  test('the constructor creates a client or throws a TypeError that names the option', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(clientOptions, any), async options => {
        const client = orMisuse(() => new Client(options as unknown as ClientOptions))
        if (!client || Object(options).fetch !== ok) return
        expectDocumented(await settle(() => client.virtualAccounts.deactivate(account)), { misuse: true })
      }),
      { numRuns: cases(1000) },
    )
  })

  test('a client with one odd option calls or throws as documented', async () => {
    const right = { baseUrl, apiKey, fetch: ok }
    const name = fc.constantFrom<keyof ClientOptions>(
      'baseUrl',
      'apiKey',
      'allowInsecureHttp',
      'maxResponseBytes',
      'onEvent',
      'timeout',
      'maxRetries',
      'headers',
      'concurrency',
    )
    await fc.assert(
      fc.asyncProperty(
        name,
        fc.oneof(
          any,
          any.map(value => () => value),
        ),
        async (name, value) => {
          const client = orMisuse(() => new Client({ ...right, [name]: value } as ClientOptions))
          if (!client) return
          expectDocumented(await settle(() => client.request('POST', '/x')), { misuse: true })
          expectDocumented(await settle(() => collectAll(client.transactions.list())), { misuse: true })
          const derived = orMisuse(() => new Client(right).withOptions({ [name]: value }))
          if (derived) expectDocumented(await settle(() => derived.request('GET', '/x')), { misuse: true })
        },
      ),
      { numRuns: cases(1000) },
    )
  })

  test('a call settles as documented: lists throw immediately for misuse, others reject', async () => {
    let sent = 0
    const client = clientWith(async () => {
      sent++
      return ok()
    })
    const options = fc.record({
      write: fc.oneof(writeOptions, any),
      request: fc.oneof(requestOptions, any),
      list: fc.oneof(listOptions, any),
    }) as fc.Arbitrary<{ write: never; request: never; list: never }>
    const path = fc.oneof(fc.constant('/x'), fc.webPath(), fc.string(), any) as fc.Arbitrary<never>
    const method = fc.oneof(fc.constantFrom('GET', 'POST', 'DELETE'), any) as fc.Arbitrary<never>
    const ref = fc.oneof(
      fc.record({ customerId: fc.oneof(fc.string(), any), virtualAccountId: fc.oneof(fc.string(), any) }),
      any,
    ) as fc.Arbitrary<never>
    await fc.assert(
      fc.asyncProperty(
        options,
        path,
        method,
        ref,
        fc.oneof(params, any),
        async (options, path, method, ref, params) => {
          for (const call of [
            () => client.request(method, path, options.request),
            () => client.request('POST', '/x', options.request),
            () => client.request('GET', '/x', options.request),
            () => client.virtualAccounts.deactivate(ref, options.write),
            () => client.virtualAccounts.reactivate(account, options.write),
          ]) {
            const before = sent
            const promise = call()
            expect(typeof promise.then).toBe('function')
            const outcome = await settle(() => promise)
            expectDocumented(outcome, { misuse: true })
            if ('error' in outcome && isMisuse(outcome.error)) expect(sent).toBe(before)
          }
          for (const make of [
            () => client.transactions.list(params as never, options.list),
            () => client.list('/x', params as never, options.list),
            () => client.list(path, {}, { schema: anything }),
          ]) {
            const before = sent
            const list = orMisuse(make)
            expect(sent).toBe(before)
            if (list) expectDocumented(await settle(() => collectAll(list)))
          }
        },
      ),
      { numRuns: cases(400) },
    )
  })

  test('an aborted call rejects with an AbortError of the reason, whatever it is', async () => {
    await fc.assert(
      fc.asyncProperty(any, fc.nat(3), async (reason, when) => {
        fc.pre(reason !== undefined)
        const controller = new AbortController()
        const abort = () => controller.abort(reason)
        const client = clientWith(
          async () => {
            if (when === 2) abort()
            return new Promise<Response>(() => {})
          },
          {
            apiKey: () => {
              if (when === 1) abort()
              return apiKey
            },
          },
        )
        if (when === 0) abort()
        const { signal } = controller
        const call = settle(() => client.virtualAccounts.deactivate(account, { signal }))
        if (when === 3) abort()
        const outcome = await call
        const { error } = outcome as { error?: unknown }
        expect(error).toBeInstanceOf(AbortError)
        expect(Object.is((error as AbortError).cause, reason)).toBe(true)
      }),
      { numRuns: cases(200) },
    )
  })
})
