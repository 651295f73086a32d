import fc from 'fast-check'
import { type AnyApiError, Client, type ClientOptions, isApiError } from 'virtual-accounts'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { cases } from '../cases.ts'

const baseUrl = 'https://api.example.com'
const apiKey = 'key_of_the_fuzz_tests'
const account = { customerId: 'c1', virtualAccountId: 'v1' }

// Seconds at most; a busy machine may take longer.
vi.setConfig({ testTimeout: 60_000 })

const unhandled: unknown[] = []
const collect = (reason: unknown) => void unhandled.push(reason)
globalThis.process?.on('unhandledRejection', collect)
afterAll(async () => {
  await new Promise(resolve => setTimeout(resolve, 20))
  globalThis.process?.off('unhandledRejection', collect)
  expect(unhandled).toEqual([])
})

type Outcome = { value: unknown } | { error: unknown }

/** How a call settles. One that hangs fails the test. */
async function outcomeOf(call: () => PromiseLike<unknown>): Promise<Outcome> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const hung = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('the call hangs')), 3000)
  })
  try {
    return { value: await Promise.race([call(), hung]) }
  } catch (error) {
    return { error }
  } finally {
    clearTimeout(timer)
  }
}

/** A value or one of the five failures; where misuse is possible, also a TypeError with a message of the client. */
function expectDocumented(outcome: Outcome, { misuse = false } = {}): void {
  if ('value' in outcome || isApiError(outcome.error)) return
  if (misuse && isMisuse(outcome.error)) return
  throw new Error('an undocumented outcome', { cause: outcome.error })
}

const misuse =
  /^.*: (?:expected |unknown option\. [A-Z][A-Za-z ]+ are: |pass it |set it on |cannot be sent|"[\w-]+" is set by |writes are sent )/s

/** "timeout: expected …": says which option, and what was expected. */
function isMisuse(error: unknown): boolean {
  return error instanceof TypeError && misuse.test(error.message)
}

async function collectAll<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) {
    all.push(item)
    // A response that always has another page is not a hang.
    if (all.length > 500) break
  }
  return all
}

/** One call of each kind. */
const calls: Record<string, (client: Client) => PromiseLike<unknown>> = {
  'one page': client => client.transactions.list(),
  'the items of a list': client => collectAll(client.transactions.list()),
  'the pages of a list': client => collectAll(client.transactions.list({}, { maxItems: 50 }).pages()),
  'a list with a schema': client => collectAll(client.list('/refunds', {}, { schema: anything })),
  'a write': client => client.virtualAccounts.deactivate(account),
  'a GET': client => client.request('GET', '/balance'),
  'a write with a schema': client => client.request('PUT', '/limits', { schema: anything, body: { a: 1 } }),
}

const anything = schemaOf(value => ({ value }))

function schemaOf(validate: (value: unknown) => unknown) {
  return { '~standard': { version: 1 as const, vendor: 'fuzz', validate: validate as never } }
}

// ---- responses

const envelopeOf = (item: fc.Arbitrary<unknown>) =>
  fc.record(
    {
      data: fc.oneof({ weight: 5, arbitrary: fc.array(item, { maxLength: 5 }) }, fc.jsonValue()),
      page: fc.oneof({ weight: 5, arbitrary: fc.constantFrom<unknown>(1, 2) }, fc.jsonValue()),
      totalItems: fc.oneof({ weight: 5, arbitrary: fc.nat(10) }, fc.jsonValue()),
      limit: fc.oneof({ weight: 5, arbitrary: fc.integer({ min: 1, max: 5 }) }, fc.jsonValue()),
    },
    { requiredKeys: [] },
  )

const transaction = fc.record(
  {
    id: fc.oneof(fc.string(), fc.jsonValue()),
    amount: fc.oneof(fc.double(), fc.jsonValue()),
    currency: fc.oneof(fc.constant('EUR'), fc.jsonValue()),
    description: fc.oneof(fc.string(), fc.jsonValue()),
  },
  { requiredKeys: [] },
)

const jsonBytes = fc
  .oneof(fc.jsonValue(), envelopeOf(fc.oneof(transaction, fc.jsonValue())))
  .map(value => new TextEncoder().encode(JSON.stringify(value)))

/** JSON in which a few bytes were replaced, added or removed. */
const damaged = fc
  .tuple(jsonBytes, fc.array(fc.tuple(fc.nat(), fc.nat(255), fc.nat(2)), { minLength: 1, maxLength: 4 }))
  .map(([bytes, changes]) => {
    const result = [...bytes]
    for (const [at, byte, remove] of changes) result.splice(at % (result.length + 1), remove, byte)
    return Uint8Array.from(result)
  })

const bytes = fc.oneof(fc.uint8Array({ maxLength: 300 }), jsonBytes, damaged)

const headerValue = fc.oneof(
  fc.string({ unit: fc.integer({ min: 0, max: 255 }).map(code => String.fromCharCode(code)) }),
  fc.constantFrom(
    '0',
    '1',
    '1e9',
    '-1',
    'Tue, 06 Feb 2001 10:00:00 GMT',
    'text/html',
    'application/json',
    '\u00ff',
  ),
)
const headers = fc
  .array(
    fc.tuple(
      fc.oneof(
        fc.constantFrom(
          'content-type',
          'retry-after',
          'date',
          'location',
          'content-length',
          'content-encoding',
          'set-cookie',
        ),
        fc.string(),
      ),
      headerValue,
    ),
    { maxLength: 6 },
  )
  .map(pairs => {
    const result = new Headers()
    for (const [name, value] of pairs) {
      try {
        result.append(name, value)
      } catch {
        // What cannot be a header cannot arrive.
      }
    }
    return result
  })

const response = fc.record({ bytes, headers, status: fc.integer({ min: 200, max: 599 }), chunk: fc.nat(40) })
type ResponseData = typeof response extends fc.Arbitrary<infer T> ? T : never

function toResponse({ bytes, headers, status, chunk }: ResponseData): Response {
  const hasBody = ![204, 205, 304].includes(status)
  return new Response(hasBody ? streamOf(bytes, chunk) : null, { status, headers })
}

function streamOf(bytes: Uint8Array, chunk: number): BodyInit {
  if (chunk === 0) return bytes as Uint8Array<ArrayBuffer>
  let at = 0
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close()
      controller.enqueue(bytes.slice(at, at + chunk))
      at += chunk
    },
  })
}

function clientWith(fetch: ClientOptions['fetch'], options: Partial<ClientOptions> = {}): Client {
  // No time for a backoff: what could be retried is thrown immediately.
  return new Client({ baseUrl, apiKey, fetch, timeout: 2000, totalTimeout: 200, ...options })
}

describe.each(Object.entries(calls))('whatever the service responds, %s', (_what, call) => {
  test('resolves, or rejects with one of the five ApiErrors', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(response, { minLength: 1, maxLength: 3 }), async responses => {
        let sent = 0
        const fetch = async () => toResponse(responses[sent++ % responses.length] as ResponseData)
        const outcome = await outcomeOf(() => call(clientWith(fetch)))
        expectDocumented(outcome)
        if ('error' in outcome) {
          const error = outcome.error as AnyApiError
          expect(error.message).not.toMatch(/[\r\n]/)
          expect(new TextEncoder().encode(error.message).length).toBeLessThan(4096)
          expect(() => JSON.stringify(error)).not.toThrow()
        }
      }),
      { numRuns: cases(150) },
    )
  })

  test('settles when a body breaks off or its chunks are not bytes', async () => {
    const piece = fc.oneof(bytes, fc.anything())
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 3 }),
        fc.anything(),
        fc.boolean(),
        async (pieces, reason, breaks) => {
          const fetch = async () =>
            new Response(
              new ReadableStream({
                start(controller) {
                  for (const piece of pieces) controller.enqueue(piece)
                  if (breaks) controller.error(reason)
                  else controller.close()
                },
              }),
            )
          expectDocumented(await outcomeOf(() => call(clientWith(fetch))))
        },
      ),
      { numRuns: cases(50) },
    )
  })

  test('rejects as documented when fetch rejects with anything, or resolves with anything', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.anything({ withNullPrototype: true, withBigInt: true }),
        fc.boolean(),
        async (thing, rejects) => {
          const fetch = async () => {
            if (rejects) throw thing
            return thing as Response
          }
          const outcome = await outcomeOf(() => call(clientWith(fetch)))
          expect(outcome).toHaveProperty('error')
          expectDocumented(outcome)
        },
      ),
      { numRuns: cases(100) },
    )
  })

  test('settles as documented whatever a schema, a listener or dedupeBy return or throw', async () => {
    const odd = fc.anything({ withNullPrototype: true })
    const doing = fc.oneof(
      odd.map(value => () => value),
      odd.map(value => async () => value),
      odd.map(error => () => {
        throw error
      }),
      odd.map(error => async () => {
        throw error
      }),
      fc
        .record({ issues: fc.array(fc.record({ message: odd, path: fc.oneof(fc.array(odd), odd) })) })
        .map(v => () => v),
    )
    const page = {
      data: [{ id: 'a', amount: 1, currency: 'EUR', description: '' }],
      page: 1,
      totalItems: 1,
      limit: 5,
    }
    await fc.assert(
      fc.asyncProperty(doing, doing, async (validate, onEvent) => {
        const client = clientWith(async () => Response.json(page), { onEvent: onEvent as () => void })
        const schema = schemaOf(validate)
        expectDocumented(await outcomeOf(() => call(client)))
        expectDocumented(await outcomeOf(() => client.request('POST', '/x', { schema })))
        expectDocumented(await outcomeOf(() => collectAll(client.list('/x', {}, { schema }))))
      }),
      { numRuns: cases(60) },
    )
  })
})

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
    dedupeBy: fc.constant((item: unknown) => item),
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
        expectDocumented(await outcomeOf(() => client.virtualAccounts.deactivate(account)), { misuse: true })
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
      'totalTimeout',
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
          expectDocumented(await outcomeOf(() => client.request('POST', '/x')), { misuse: true })
          expectDocumented(await outcomeOf(() => collectAll(client.transactions.list())), { misuse: true })
          const derived = orMisuse(() => new Client(right).withOptions({ [name]: value }))
          if (derived) expectDocumented(await outcomeOf(() => derived.request('GET', '/x')), { misuse: true })
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
            const outcome = await outcomeOf(() => promise)
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
            if (list) expectDocumented(await outcomeOf(() => collectAll(list)))
          }
        },
      ),
      { numRuns: cases(400) },
    )
  })

  test('an aborted call rejects with the reason, whatever it is', async () => {
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
        const call = outcomeOf(() => client.virtualAccounts.deactivate(account, { signal }))
        if (when === 3) abort()
        const outcome = await call
        expect('error' in outcome && Object.is(outcome.error, reason)).toBe(true)
      }),
      { numRuns: cases(200) },
    )
  })
})

describe('an InvalidResponseError', () => {
  const marker = 'Zq7PersonalDataNobodyMayLogXy9'
  const digits = '73194650287316495027'

  /** JSON text that contains a personal value, which no log may show. */
  const secretive = fc.oneof(
    { weight: 3, arbitrary: fc.constant(JSON.stringify(marker)) },
    fc.constant(`{"a":${JSON.stringify(marker)}}`),
    fc.constant(`[${JSON.stringify(marker)}]`),
    fc.constant(digits),
    fc.string().map(text => JSON.stringify(`${text}${marker}\n${text}`)),
    fc.constant('null'),
    fc.constant('1'),
  )
  const item = fc
    .dictionary(fc.constantFrom('id', 'amount', 'currency', 'description', 'more'), secretive)
    .map(fields => `{${Object.entries(fields).map(([name, value]) => `"${name}":${value}`)}}`)
  const page = fc
    .record({
      data: fc.oneof(
        fc.array(fc.oneof(item, secretive), { maxLength: 40 }).map(items => `[${items}]`),
        secretive,
      ),
      page: fc.oneof(fc.constant('1'), secretive),
      totalItems: fc.oneof(fc.constant('40'), secretive),
      limit: fc.oneof(fc.constant('40'), secretive),
    })
    .map(({ data, page, totalItems, limit }) => {
      return `{"data":${data},"page":${page},"totalItems":${totalItems},"limit":${limit}}`
    })
  const body = fc.oneof(
    page,
    secretive,
    secretive.map(text => `${text}<html>`),
    page.map(text => text.slice(0, -1)),
  )

  function expectDiscreet(error: unknown): void {
    if (!isApiError(error)) throw error
    const { message } = error
    expect(new TextEncoder().encode(message).length).toBeLessThan(4096)
    expect(message).not.toMatch(/[\n\r\u2028\u2029]/)
    expect(message).not.toContain(marker)
    expect(message).not.toContain(digits)
    expect(JSON.stringify({ ...error, issues: undefined })).not.toContain(marker)
  }

  test('names paths and never a value, in one line of less than 4 KB', async () => {
    let seen = 0
    await fc.assert(
      fc.asyncProperty(body, fc.constantFrom('application/json', 'text/html'), async (text, type) => {
        const client = clientWith(async () => new Response(text, { headers: { 'content-type': type } }))
        for (const call of Object.values(calls)) {
          const outcome = await outcomeOf(() => call(client))
          if ('value' in outcome) continue
          expectDiscreet(outcome.error)
          seen++
        }
      }),
      { numRuns: cases(150) },
    )
    expect(seen).toBeGreaterThan(100)
  })

  test('does not quote values in its message, even if a schema quotes them in its issues', async () => {
    const key = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.nat(), fc.constant('💶\n'.repeat(50)))
    const issue = fc.record({ message: fc.string().map(text => `${text} ${marker}\n`), path: fc.array(key) })
    await fc.assert(
      fc.asyncProperty(fc.array(issue, { minLength: 1, maxLength: 60 }), async issues => {
        const client = clientWith(async () =>
          Response.json({ data: [marker], page: 1, totalItems: 1, limit: 1 }),
        )
        const schema = schemaOf(() => ({ issues }))
        for (const call of [
          () => client.request('POST', '/x', { schema }),
          () => client.list('/x', {}, { schema }),
        ]) {
          const outcome = await outcomeOf(call)
          expect('error' in outcome && isApiError(outcome.error) && outcome.error.kind).toBe(
            'invalid-response',
          )
          if ('error' in outcome) expectDiscreet(outcome.error)
        }
      }),
      { numRuns: cases(200) },
    )
  })
})

describe('no digit is lost', () => {
  // ---- an oracle of its own, with whole numbers only

  /** A decimal number: digits · 10^exponent, the digits without zeros at their end. */
  interface Decimal {
    negative: boolean
    digits: bigint
    exponent: bigint
  }

  function normal(negative: boolean, digits: bigint, exponent: bigint): Decimal {
    if (digits === 0n) return { negative: false, digits, exponent: 0n }
    let [rest, power] = [digits, exponent]
    while (rest % 10n === 0n) [rest, power] = [rest / 10n, power + 1n]
    return { negative, digits: rest, exponent: power }
  }

  function equal(a: Decimal, b: Decimal): boolean {
    return a.negative === b.negative && a.digits === b.digits && a.exponent === b.exponent
  }

  function read(source: string): Decimal {
    const [mantissa = '', exponent = '0'] = source.toLowerCase().split('e')
    const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
    return normal(
      source.startsWith('-'),
      BigInt(whole + fraction),
      BigInt(exponent) - BigInt(fraction.length),
    )
  }

  /** A double as the fraction that it is. */
  function fractionOf(value: number): { numerator: bigint; denominator: bigint } {
    const view = new DataView(new ArrayBuffer(8))
    view.setFloat64(0, Math.abs(value))
    const bits = view.getBigUint64(0)
    const biased = bits >> 52n
    const mantissa = (bits & ((1n << 52n) - 1n)) | (biased === 0n ? 0n : 1n << 52n)
    const power = (biased === 0n ? 1n : biased) - 1075n
    return power >= 0n
      ? { numerator: mantissa << power, denominator: 1n }
      : { numerator: mantissa, denominator: 1n << -power }
  }

  /**
   * The two decimals of so many digits between which a double lies, the nearer one first. When it lies in the middle,
   * toPrecision takes the upper one and String the even one.
   */
  function around(value: number, count: number, half: 'up' | 'even'): [Decimal, Decimal] {
    const { numerator, denominator } = fractionOf(value)
    let exponent = BigInt(Math.floor(Math.log10(Math.abs(value)))) - BigInt(count) + 1n
    const scaled = () =>
      exponent >= 0n
        ? [numerator, denominator * 10n ** exponent]
        : [numerator * 10n ** -exponent, denominator]
    // The logarithm may be off by one.
    let [above = 0n, below = 1n] = scaled()
    while (above / below >= 10n ** BigInt(count)) {
      exponent++
      ;[above = 0n, below = 1n] = scaled()
    }
    while (above / below < 10n ** BigInt(count - 1)) {
      exponent--
      ;[above = 0n, below = 1n] = scaled()
    }
    const floor = above / below
    const lower = normal(value < 0, floor, exponent)
    const upper = normal(value < 0, floor + 1n, exponent)
    const beyondHalf = (above % below) * 2n - below
    const isUpper = beyondHalf === 0n ? half === 'up' || floor % 2n === 1n : beyondHalf > 0n
    return isUpper ? [upper, lower] : [lower, upper]
  }

  const toNumber = ({ negative, digits, exponent }: Decimal) =>
    Number(`${negative ? '-' : ''}${digits}e${exponent}`)

  function shortest(value: number): Decimal {
    for (let count = 1; count <= 17; count++) {
      const found = around(value, count, 'even').find(decimal => toNumber(decimal) === value)
      if (found) return found
    }
    throw new Error('17 digits are always enough')
  }

  /** Whether the number that was written is what its double stands for. */
  function isHeld(source: string): boolean {
    const value = Number(source)
    if (!Number.isFinite(value)) return false
    const written = read(source)
    if (value === 0) return written.digits === 0n
    return equal(written, shortest(value)) || equal(written, around(value, 17, 'up')[0])
  }

  test.each([
    ['10.119999999999999', true],
    ['10.12', true],
    ['1.50', true],
    ['9007199254740993', false],
    ['9007199254740992', true],
    ['12345678.12345678901', false],
    ['1e400', false],
    ['1e-400', false],
    ['5e-324', true],
    ['4.9406564584124654e-324', true],
    ['0.30000000000000004', true],
    ['655654267100317.2', true],
    ['655654267100317.3', false],
    ['0.3000000000000000444', false],
    ['0.1000000000000000055511151231257827', false],
  ])('the oracle of these tests knows whether a double holds %s: %j', (source, held) => {
    expect(isHeld(source)).toBe(held)
  })

  // ---- numbers as services write them, and as they should not

  const digitRun = (maxLength: number) => fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength })
  const exponent = fc
    .tuple(
      fc.constantFrom('e', 'E'),
      fc.constantFrom('', '+', '-'),
      fc.constantFrom('', '0', '00'),
      fc.nat(420),
    )
    .map(parts => parts.join(''))
  const written = fc
    .tuple(
      fc.constantFrom('', '-'),
      fc.oneof(
        fc.constant('0'),
        digitRun(24).map(run => `${run}`.replace(/^0+/, '') || '0'),
      ),
      fc.oneof(
        fc.constant(''),
        digitRun(24).map(run => (run === '' ? '' : `.${run}`)),
      ),
      fc.oneof({ weight: 2, arbitrary: fc.constant('') }, exponent),
    )
    .map(parts => parts.join(''))
  const double = fc.double({ noNaN: true, noDefaultInfinity: true })
  const ofDouble = fc
    .tuple(
      fc.oneof(
        double,
        fc.integer({ min: -1e9, max: 1e9 }).map(cents => cents / 100),
      ),
      fc.constantFrom<(value: number) => string>(
        value => String(value),
        value => value.toPrecision(17),
        value => value.toPrecision(16),
        value => value.toPrecision(18),
        value => value.toExponential(16),
        value => value.toExponential(20),
        value => value.toFixed(20),
      ),
      fc.constantFrom('', '0', '000', '1', '5'),
    )
    .map(([value, write, more]) => {
      const text = write(Object.is(value, -0) ? 0 : value)
      return /^-?\d+\.\d+$/.test(text) ? text + more : text
    })
  const atTheEdge = fc
    .tuple(
      fc.constantFrom(2n ** 53n, 10n ** 15n, 10n ** 16n, 10n ** 17n, 2n ** 63n, 2n ** 64n),
      fc.integer({ min: -9, max: 9 }),
    )
    .map(([edge, more]) => String(edge + BigInt(more)))
  const number = fc.oneof(written, ofDouble, atTheEdge)

  const space = fc.constantFrom('', '', '', ' ', '\n', '\t\r\n  ')
  const text = fc.oneof(
    number,
    fc.string(),
    fc
      .tuple(fc.string(), number, fc.constantFrom(',', ' ', '}', ']', ':', '"', '\\', 'e'))
      .map(parts => parts.join('')),
    fc
      .tuple(fc.constantFrom('"', '\\"', ':', ' ', ',', '['), number, fc.constantFrom(',', '"'))
      .map(parts => parts.join('')),
  )

  function expectKept(arrived: unknown, source: string): void {
    if (isHeld(source)) expect(arrived).toBe(Number(source))
    else expect(arrived).toBe(source)
  }

  async function arriving(json: string): Promise<unknown> {
    const client = clientWith(
      async () => new Response(json, { headers: { 'content-type': 'application/json' } }),
    )
    return (await client.request('GET', '/numbers')).data
  }

  test('a number arrives as the service wrote it, or as the string of its exact digits', async () => {
    await fc.assert(
      fc.asyncProperty(number, space, space, async (source, before, after) => {
        fc.pre(/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(source))
        expectKept(await arriving(`${before}${source}${after}`), source)
      }),
      { numRuns: cases(3000) },
    )
  })

  test('many numbers in one response arrive with every digit, beside strings that look like numbers', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(number, text, space, space), { minLength: 1, maxLength: 8 }),
        async parts => {
          const items = parts.map(
            ([source, text, before, after]) =>
              `{"text":${JSON.stringify(text)},${before}"n"${after}:${before}${source}${after},"deep":[${before}[${source}],${JSON.stringify(text)}${after}]}`,
          )
          const arrived = (await arriving(`[${items}]`)) as {
            text: string
            n: unknown
            deep: [[unknown], string]
          }[]
          for (const [index, [source, text]] of parts.entries()) {
            const item = arrived[index]
            expect(item?.text).toBe(text)
            expect(item?.deep[1]).toBe(text)
            expectKept(item?.n, source)
            expectKept(item?.deep[0][0], source)
          }
        },
      ),
      { numRuns: cases(1000) },
    )
  })

  test('a number after a run of short ones arrives with every digit', async () => {
    const short = fc
      .tuple(fc.integer({ min: 0, max: 999 }).map(String), fc.constantFrom(',', ', ', ',\n'))
      .map(([n, s]) => n + s)
    const row = fc.oneof(
      fc.array(short, { maxLength: 20 }).map(parts => parts.join('')),
      // Periodic, in step with a search that looks at every second, third or fourth byte only.
      fc.tuple(short, fc.nat(20)).map(([part, count]) => part.repeat(count)),
      fc.tuple(short, short, fc.nat(10)).map(([one, other, count]) => (one + other).repeat(count)),
    )
    await fc.assert(
      fc.asyncProperty(row, number, row, space, async (before, source, after, start) => {
        const arrived = (await arriving(`${start}[${before}${source},${after}0]`)) as unknown[]
        expectKept(arrived[before.split(',').length - 1], source)
      }),
      { numRuns: cases(3000) },
    )
  })

  test('strings and keys never change', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(text, text), async strings => {
        expect(await arriving(JSON.stringify(strings))).toEqual(strings)
      }),
      { numRuns: cases(1000) },
    )
  })

  test('any JSON value whose numbers a double holds is parsed as JSON.parse does', async () => {
    await fc.assert(
      fc.asyncProperty(fc.json(), async json => {
        expect(await arriving(json)).toEqual(JSON.parse(json))
      }),
      { numRuns: cases(1000) },
    )
  })

  test('an amount is what the service wrote, or the page is rejected', async () => {
    await fc.assert(
      fc.asyncProperty(number, async source => {
        const item = `{"id":"t1","amount":${source},"currency":"EUR","description":""}`
        const client = clientWith(
          async () => new Response(`{"data":[${item}],"page":1,"totalItems":1,"limit":1}`),
        )
        const outcome = await outcomeOf(() => client.transactions.list().then(({ data }) => data[0]?.amount))
        if (isHeld(source)) expect(outcome).toEqual({ value: Number(source) })
        else
          expect('error' in outcome && isApiError(outcome.error) && outcome.error.kind).toBe(
            'invalid-response',
          )
      }),
      { numRuns: cases(1000) },
    )
  })

  test('the body of an HttpError keeps every digit, too', async () => {
    await fc.assert(
      fc.asyncProperty(number, async source => {
        const client = clientWith(async () => new Response(`{"n":${source}}`, { status: 400 }))
        const outcome = await outcomeOf(() => client.request('GET', '/numbers'))
        if ('value' in outcome || !isApiError(outcome.error) || outcome.error.kind !== 'http') throw outcome
        expectKept((outcome.error.body as { n: unknown }).n, source)
      }),
      { numRuns: cases(500) },
    )
  })
})
