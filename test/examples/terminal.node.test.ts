import { expect, test } from 'vitest'
import { duration, pace } from '../../examples/format.js'
import { aligned, grouped, wrapped } from '../../examples/terminal.js'
import { checkEach } from '../support.ts'

test('numbers have their digits in groups, and all of them', () =>
  checkEach(
    [
      [1234567.5, '1,234,567.5'],
      ['12345678901234567890.25', '12,345,678,901,234,567,890.25'],
      [-1000, '-1,000'],
    ],
    ([value, expected]) => {
      expect(grouped(value)).toBe(expected)
    },
  ))

test('amounts have their decimal points below each other', () => {
  expect(aligned([4841890, 97.76, 163.4])).toEqual(['4,841,890   ', '       97.76', '      163.4 '])
})

test('seconds to wait are rounded to the unit that fits', () =>
  checkEach(
    [
      [0.2, '1 s'],
      [119, '119 s'],
      [4130, '69 min'],
      [1e7, '116 days'],
    ],
    ([seconds, expected]) => {
      expect(duration(seconds)).toBe(expected)
    },
  ))

test('there is no estimate before a hundredth is done', () => {
  expect(pace({ done: 999, total: 100_000, seconds: 0.04 })).toBe('')
  expect(pace({ done: 1000, total: 100_000, seconds: 1 })).toBe('1,000 a second, 99 s left')
  expect(pace({ done: 0, total: 0, seconds: 0 })).toBe('')
})

test('lines break at 80 columns, and not in code', () => {
  const filler = 'x'.repeat(70)
  expect(wrapped(`${filler} pass \`maxRetries: 0\`. End`, '  ')).toBe(
    `  ${filler} pass\n  \`maxRetries: 0\`. End`,
  )
})
