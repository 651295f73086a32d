import fc from 'fast-check'
import { type AnyApiError, type Client, isApiError } from 'virtual-accounts'
import { describe, expect, test, vi } from 'vitest'
import { cases } from '../cases.ts'
import { checkEach } from '../support.ts'
import { calls, clientWith, collectAll, expectDocumented, schemaOf, settle } from './any.ts'

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

const response = fc.record({ bytes, headers, status: fc.integer({ min: 200, max: 599 }) })
type ResponseData = typeof response extends fc.Arbitrary<infer T> ? T : never

function toResponse({ bytes, headers, status }: ResponseData): Response {
  const hasBody = ![204, 205, 304].includes(status)
  return new Response(hasBody ? (bytes as Uint8Array<ArrayBuffer>) : null, { status, headers })
}

/** Checks a property for one call of each kind. */
const checkCalls = (check: (call: (client: Client) => PromiseLike<unknown>) => Promise<void>) =>
  checkEach(Object.entries(calls), ([, call]) => check(call))

describe('whatever the service responds, every call', () => {
  test('resolves, or rejects with an ApiError', () =>
    checkCalls(call =>
      fc.assert(
        fc.asyncProperty(fc.array(response, { minLength: 1, maxLength: 3 }), async responses => {
          let sent = 0
          const fetch = async () => toResponse(responses[sent++ % responses.length] as ResponseData)
          const outcome = await settle(() => call(clientWith(fetch)))
          expectDocumented(outcome)
          if ('error' in outcome) {
            const error = outcome.error as AnyApiError
            expect(error.message).not.toMatch(/[\r\n]/)
            expect(new TextEncoder().encode(error.message).length).toBeLessThan(4096)
            expect(() => JSON.stringify(error)).not.toThrow()
          }
        }),
        { numRuns: cases(150) },
      ),
    ))

  test('settles as documented whatever a schema or a listener returns or throws', () =>
    checkCalls(async call => {
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
          vi.spyOn(console, 'error').mockImplementation(() => {})
          const client = clientWith(async () => Response.json(page), { onEvent: onEvent as () => void })
          const schema = schemaOf(validate)
          expectDocumented(await settle(() => call(client)))
          expectDocumented(await settle(() => client.request('POST', '/x', { schema })))
          expectDocumented(await settle(() => collectAll(client.list('/x', {}, { schema }))))
        }),
        { numRuns: cases(60) },
      )
    }))
})

describe('an InvalidResponseError', () => {
  const marker = 'Zq7PersonalDataNobodyMayLogXy9'

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
          const outcome = await settle(call)
          expect('error' in outcome && isApiError(outcome.error) && outcome.error.kind).toBe(
            'invalid-response',
          )
          if ('value' in outcome) continue
          const { message, ...properties } = outcome.error as AnyApiError
          expect(new TextEncoder().encode(message).length).toBeLessThan(4096)
          expect(message).not.toMatch(/[\n\r\u2028\u2029]/)
          expect(message).not.toContain(marker)
          expect(JSON.stringify({ ...properties, issues: undefined })).not.toContain(marker)
        }
      }),
      { numRuns: cases(200) },
    )
  })
})
