/** Defines a property that is not enumerable. Writable and configurable: a proxy must return read-only ones unchanged. */
export function defineHidden(object: object, name: PropertyKey, value: unknown): void {
  Object.defineProperty(object, name, { value, configurable: true, writable: true })
}
