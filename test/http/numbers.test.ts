import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { createClient, respondWithPage, startService } from '../service.ts'
import { apiErrorOf, checkEach } from '../support.ts'

startService()

const valid = '{"id":"t1","amount":200,"currency":"AED","description":"Test"}'
const list = () => createClient().transactions.list()

describe('a number', () => {
  /** A field of the first transaction, which its type does not have. */
  const unspecified = async (name: string) => Object(await list().then(({ data }) => data[0]))[name]

  test('arrives as a number, or as a string where a double would lose digits', () =>
    checkEach<[written: string, arrives: number | string]>(
      [
        ['-0', -0],
        ['0.1', 0.1],
        ['10.119999999999999', 10.12],
        ['1.50', 1.5],
        ['100000000000000000000', 100000000000000000000],
        ['1e3', 1000],
        ['9007199254740992', 9007199254740992],
        ['9007199254740993', '9007199254740993'],
        ['-9007199254740993', '-9007199254740993'],
        ['12345678.12345678901', '12345678.12345678901'],
        ['0.1000000000000000055511151231257827', '0.1000000000000000055511151231257827'],
        ['0.10000000000000000', 0.1],
        ['1e400', '1e400'],
        ['1.5E+001', 15],
        ['-1E400', '-1E400'],
        ['1e-400', '1e-400'],
        ['0e-400', 0],
        ['0e400', 0],
        ['5e-324', 5e-324],
        ['2.5e-324', '2.5e-324'],
        ['1.7976931348623159e308', '1.7976931348623159e308'],
        ['123456789.12e-0400', '123456789.12e-0400'],
      ],
      async ([written, arrives]) => {
        for (const space of ['', ' ', '\n']) {
          respondWithPage(valid.replace('}', `,"balances":[1,${space}${written}${space}]}`))
          expect(await unspecified('balances')).toEqual([1, arrives])
        }
      },
    ))

  test('that a double would round is rejected as an amount, and the message says where', async () => {
    respondWithPage(valid.replace('200', '9007199254740993'))
    const error = await apiErrorOf('invalid-response', list())
    expect(error.issues).toMatchObject([{ path: ['data', 0, 'amount'] }])
    expect(error.body).toMatchObject({ data: [{ amount: '9007199254740993' }] })
  })

  test("that a double would round reaches the caller's schema as a string", async () => {
    respondWithPage(valid.replace('200', '9007199254740993'))
    const schema = z.looseObject({ amount: z.union([z.number(), z.string()]).transform(BigInt) })
    const page = await createClient().transactions.list({}, { schema })
    expect(page.data[0]?.amount).toBe(9007199254740993n)
  })

  test("that arrives as a string and does not match the caller's schema is explained in the issue", () =>
    checkEach([true, false], async isRounded => {
      respondWithPage(valid.replace('200', isRounded ? '9007199254740993' : '"200"'))
      const schema = z.looseObject({ amount: z.number() })
      const list = createClient().transactions.list({}, { schema })
      const [issue] = (await apiErrorOf('invalid-response', list)).issues
      const hint = ' (a number that JavaScript would round is kept as a string)'
      expect(issue?.message).toBe(`Invalid input: expected number, received string${isRounded ? hint : ''}`)
    }))
})
