import fc from 'fast-check'
import { isApiError } from 'virtual-accounts'
import { describe, expect, test, vi } from 'vitest'
import { cases } from '../cases.ts'
import { clientWith, settle } from './any.ts'

// Seconds at most; a busy machine may take longer.
vi.setConfig({ testTimeout: 60_000 })

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
    const isLongForm = !Number.isInteger(value) && equal(written, around(value, 17, 'up')[0])
    return isLongForm || equal(written, shortest(value))
  }

  test.each([
    ['10.119999999999999', true],
    ['10.12', true],
    ['1.50', true],
    ['9007199254740993', false],
    ['9007199254740992', true],
    ['20261123063819128', false],
    ['20261123063819130', true],
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
        const outcome = await settle(() => client.transactions.list().then(({ data }) => data[0]?.amount))
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
        const outcome = await settle(() => client.request('GET', '/numbers'))
        if ('value' in outcome || !isApiError(outcome.error) || outcome.error.kind !== 'http') throw outcome
        expectKept((outcome.error.body as { n: unknown }).n, source)
      }),
      { numRuns: cases(500) },
    )
  })
})
