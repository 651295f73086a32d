import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DecimalSum } from '../examples/decimal-sum.js'

function sum(...amounts: (number | string)[]): string {
  const total = new DecimalSum()
  for (const amount of amounts) total.add(amount)
  return total.toString()
}

test.each<[string, (number | string)[]]>([
  ['0', []],
  ['0', [0, -0]],
  ['0.3', [0.1, 0.2]],
  ['1.00', [0.25, 0.75]],
  ['0.10', [1.1, -1.05, 0.05]],
  ['-0.05', [-0.05]],
  ['-1.95', [0.05, -2]],
  ['0.00', [12.34, -12.34]],
  ['1000000000000000000000', [1e21]],
  ['1000000000000000000000.5', [1e21, 0.5]],
  ['0.00000015', [1.5e-7]],
  ['1500', ['1.5e3']],
  ['12345678901234567890.13', ['12345678901234567890.12', 0.01]],
])('the sum is %s of %j', (expected, amounts) => {
  expect(sum(...amounts)).toBe(expected)
})

test.each([Number.NaN, Infinity, '', '1,5', '0x10', '1e999999999', '.5', ' 1'])(
  '%j cannot be added',
  amount => {
    expect(() => sum(amount)).toThrow(TypeError)
  },
)

test('amounts of whole cents add up to the cent', () => {
  // Up to 15 digits: so many every number holds, and writes as they were.
  const cents = fc.integer({ min: -999_999_999_999_999, max: 999_999_999_999_999 })
  fc.assert(
    fc.property(fc.array(cents), amounts => {
      const [whole, fraction = ''] = sum(...amounts.map(amount => amount / 100)).split('.')
      const expected = amounts.reduce((total, amount) => total + BigInt(amount), 0n)
      expect(BigInt(whole + fraction.padEnd(2, '0'))).toBe(expected)
    }),
  )
})

test('the order of the amounts does not matter', () => {
  const amounts = fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }))
  fc.assert(
    fc.property(amounts, amounts => {
      expect(sum(...amounts.toReversed())).toBe(sum(...amounts))
    }),
  )
})
