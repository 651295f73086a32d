import { Client } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { expect } from 'vitest'
import * as z from 'zod'
import { checkEach } from '../support.ts'

export interface Mistake {
  readonly mistake: string
  readonly wrote: () => unknown
  /** The message of a TypeError, thrown before anything is sent. A pattern if another table pins its words. */
  readonly gets?: string | RegExp
  /** It shows only when a response is read. */
  readonly sends?: boolean
  /** The message of an ApiError. */
  readonly getsFromCall?: string | RegExp
  /** The result, if it is not a mistake here. */
  readonly works?: unknown
}

export const service = new FakeService({ transactions: sampleTransactions(5) })
const { baseUrl, apiKey, fetch } = service
export const client = new Client({ baseUrl, apiKey, fetch, maxRetries: 0 })

/** As `process.env`, where nothing is set. */
export const env: Record<string, string | undefined> = {}
export const schema = z.looseObject({ id: z.string() })

/** Checks what somebody gets who makes these mistakes. `@ts-expect-error` marks those that the compiler rejects, too. */
export const checkMistakes = (mistakes: readonly Mistake[]): Promise<void> =>
  checkEach(
    mistakes.map(row => [row.mistake, row] as const),
    async ([, { wrote, gets, sends, getsFromCall, works }]) => {
      service.reset()
      const outcome = await settle(wrote)
      if (gets === undefined && getsFromCall === undefined) {
        expect(outcome).toEqual({ value: works })
        return
      }
      if (!('error' in outcome)) throw new Error('nothing was thrown')
      const { name, message } = outcome.error as Error
      const expected = gets ?? getsFromCall
      if (expected instanceof RegExp) expect(message).toMatch(expected)
      else expect(message).toBe(expected)
      expect(name === 'TypeError').toBe(gets !== undefined)
      if (gets !== undefined && !sends) expect(service.requests).toEqual([])
    },
  )

async function settle(run: () => unknown): Promise<{ value: unknown } | { error: unknown }> {
  try {
    return { value: await run() }
  } catch (error) {
    return { error }
  }
}
