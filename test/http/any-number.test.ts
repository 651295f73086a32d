import fc from 'fast-check'
import { isApiError } from 'virtual-accounts'
import { describe, expect, test } from 'vitest'
import { cases } from '../cases.ts'
import { clientWith, settle } from './any.ts'

/** A decimal number as `digits · 10^exponent`, compared by its exact value. */
function toDecimal(source: string): string {
  const [mantissa = '', exponent = '0'] = source.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  let digits = BigInt(whole + fraction)
  let power = BigInt(exponent) - BigInt(fraction.length)
  if (digits === 0n) return '0'
  while (digits % 10n === 0n) [digits, power] = [digits / 10n, power + 1n]
  return `${source.startsWith('-') ? '-' : ''}${digits}e${power}`
}

/** Whether its double prints as the written number. */
function isHeld(source: string): boolean {
  const value = Number(source)
  if (!Number.isFinite(value)) return false
  const forms = [String(value), ...(Number.isInteger(value) ? [] : [value.toPrecision(17)])]
  return forms.some(form => toDecimal(form) === toDecimal(source))
}

const digits = (maxLength: number) => fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength })
const optional = (part: fc.Arbitrary<string>) => fc.oneof(fc.constant(''), part)
const join = (...parts: fc.Arbitrary<string>[]) => fc.tuple(...parts).map(all => all.join(''))

const exponent = join(
  fc.constantFrom('e', 'E'),
  fc.constantFrom('', '+', '-'),
  fc.constantFrom('', '0', '00'),
  fc.nat(420).map(String),
)
const written = join(
  fc.constantFrom('', '-'),
  digits(24).map(run => run.replace(/^0+/, '') || '0'),
  optional(digits(24).map(run => run && `.${run}`)),
  optional(exponent),
)
const ofDouble = fc
  .tuple(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom<(value: number) => string>(
      value => value.toPrecision(16),
      value => value.toPrecision(17),
      value => value.toPrecision(18),
      value => value.toFixed(20),
      value => (Math.trunc(value) / 100).toFixed(2),
    ),
  )
  .map(([value, write]) => write(value).replace(/^-(?=[0.]+$)/, ''))
const atTheEdge = fc
  .tuple(fc.constantFrom(2n ** 53n, 10n ** 15n, 10n ** 16n, 2n ** 63n), fc.bigInt(-9n, 9n))
  .map(([edge, more]) => String(edge + more))
const number = fc.oneof(written, ofDouble, atTheEdge)

/** Text that looks like a number, or hides one from a pattern: IBANs, UUIDs, texts about numbers. */
const text = fc.oneof(
  fc.string(),
  fc.uuid(),
  join(
    fc.constantFrom('DE', 'a-', 'x: ', ', ', '[', '"', '\\', ''),
    number,
    fc.constantFrom('', ',', '"', ' }'),
  ),
)
const space = fc.constantFrom('', '', ' ', '\n', '\t\r\n  ')

async function arriving(json: string, status = 200): Promise<unknown> {
  const client = clientWith(async () => new Response(json, { status }))
  const outcome = await settle(() => client.request('GET', '/numbers'))
  if ('value' in outcome) return (outcome.value as { data: unknown }).data
  if (isApiError(outcome.error) && outcome.error.kind === 'http') return outcome.error.body
  throw outcome.error
}

const expectKept = (arrived: unknown, source: string) =>
  expect(arrived === 0 ? 0 : arrived).toBe(isHeld(source) ? Number(source) || 0 : source)

describe('no digit is lost', () => {
  test('of numbers in any place of a response, beside texts that look like numbers', async () => {
    const part = fc.tuple(number, text, space, space)
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { minLength: 1, maxLength: 8 }),
        fc.constantFrom(200, 400),
        async (parts, status) => {
          const items = parts.map(
            ([source, text, before, after]) =>
              `{"text":${JSON.stringify(text)},${before}"n"${after}:${before}${source}${after},"deep":[${before}[${source}],${JSON.stringify(text)}${after}]}`,
          )
          const arrived = (await arriving(`[${items}]`, status)) as {
            text: string
            n: unknown
            deep: [[unknown], string]
          }[]
          for (const [index, [source, text]] of parts.entries()) {
            expect([arrived[index]?.text, arrived[index]?.deep[1]]).toEqual([text, text])
            expectKept(arrived[index]?.n, source)
            expectKept(arrived[index]?.deep[0][0], source)
          }
        },
      ),
      { numRuns: cases(2000) },
    )
  })

  test('of a number alone, or after a run of short ones', async () => {
    const short = join(fc.nat(999).map(String), fc.constantFrom(',', ', ', ',\n'))
    const row = fc.tuple(short, short, fc.nat(10)).map(([one, other, count]) => (one + other).repeat(count))
    await fc.assert(
      fc.asyncProperty(row, number, row, space, async (before, source, after, start) => {
        expectKept(await arriving(`${start}${source}${start}`), source)
        const arrived = (await arriving(`${start}[${before}${source},${after}0]`)) as unknown[]
        expectKept(arrived[before.split(',').length - 1], source)
      }),
      { numRuns: cases(2000) },
    )
  })

  test('and any other JSON value is parsed as JSON.parse does', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.json(),
          fc.dictionary(text, text).map(o => JSON.stringify(o)),
        ),
        async json => {
          expect(await arriving(json)).toEqual(JSON.parse(json))
        },
      ),
      { numRuns: cases(1000) },
    )
  })
})
