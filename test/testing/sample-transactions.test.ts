import { sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, test } from 'vitest'
import { checkEach } from '../support.ts'

describe('sample transactions', () => {
  test('are the same for the same seed, and different for another', () => {
    expect(sampleTransactions(50, 7)).toEqual(sampleTransactions(50, 7))
    expect(sampleTransactions(50)).toEqual(sampleTransactions(50, 1))
    expect(sampleTransactions(50, 7)).not.toEqual(sampleTransactions(50, 8))
  })

  test('are the same in every runtime', () => {
    expect(sampleTransactions(2)).toEqual([
      {
        id: '10246215274470382904834',
        amount: 4841890,
        currency: 'JPY',
        description: 'Refund for order 65155',
      },
      { id: '48321729948229390559155', amount: 97.76, currency: 'CHF', description: 'Order 46337' },
    ])
  })

  test('begin with the same ones, however many are generated', () => {
    expect(sampleTransactions(10, 1)).toEqual(sampleTransactions(20, 1).slice(0, 10))
    expect(sampleTransactions(0)).toEqual([])
  })

  test('have unique ids of 23 digits', () => {
    const ids = sampleTransactions(5_000).map(({ id }) => id)

    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect(id).toMatch(/^[1-9]\d{22}$/)
  })

  test('have positive amounts with at most two decimals, and none in yen', () => {
    for (const { amount, currency } of sampleTransactions(5_000)) {
      expect(String(amount)).toMatch(currency === 'JPY' ? /^[1-9]\d*$/ : /^\d+(\.\d{1,2})?$/)
      expect(amount).toBeGreaterThan(0)
    }
  })

  test('have several currencies, and a description each', () => {
    const transactions = sampleTransactions(200)

    expect(new Set(transactions.map(({ currency }) => currency))).toContain('AED')
    expect(new Set(transactions.map(({ currency }) => currency)).size).toBeGreaterThan(3)
    for (const { currency, description } of transactions) {
      expect(currency).toMatch(/^[A-Z]{3}$/)
      expect(description).not.toBe('')
    }
  })

  test('need a whole number of at least 0, and a seed that is one', async () => {
    await checkEach([-1, 1.5, Number.NaN, '3', undefined], count => {
      expect(() => sampleTransactions(count as number)).toThrow(/^count: /)
    })
    await checkEach([1.5, Number.NaN, '3', null], seed => {
      expect(() => sampleTransactions(1, seed as number)).toThrow(/^seed: /)
    })
  })
})
