import { inject } from 'vitest'

declare module 'vitest' {
  export interface ProvidedContext {
    casesFactor: number
  }
}

/**
 * How many random cases a property is tried with: half of them in `npm run test:all`, a tenth in `npm test`, and no fewer than
 * a hundred. The factors are in vitest.config.ts.
 */
export function cases(count: number): number {
  return Math.max(Math.min(count, 100), Math.round(count * inject('casesFactor')))
}
