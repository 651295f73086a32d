/** The method that console.log of Node, Bun and Deno calls to print an object. */
export const inspectSymbol: symbol = /* @__PURE__ */ Symbol.for('nodejs.util.inspect.custom')

/** An object that console.log prints under the given name. */
export function printable(name: string, properties: object): object {
  const { [name]: Named } = { [name]: class {} }
  return Object.assign(new (Named as new () => object)(), properties)
}

/** Defines a property that is not enumerable. Writable and configurable: a proxy must return read-only ones unchanged. */
export function defineHidden(object: object, name: PropertyKey, value: unknown): void {
  Object.defineProperty(object, name, { value, configurable: true, writable: true })
}
