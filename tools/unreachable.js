/** Stands for every export of the modules that `tsup.config.ts` leaves out of the bundle. */
export function unreachable() {
  throw new Error('virtual-accounts was built without this module of ky or zod')
}
