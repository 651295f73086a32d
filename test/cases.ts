import { inject } from 'vitest'

declare module 'vitest' {
  export interface ProvidedContext {
    casesFactor: number
  }
}

/**
 * The number of random cases of a property: half of `count` in `npm run test:all`, a tenth in `npm test`, and at least
 * a hundred. The factors are in vitest.config.ts.
 */
export function cases(count: number): number {
  return Math.max(Math.min(count, 100), Math.round(count * inject('casesFactor')))
}
