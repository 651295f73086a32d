/** Defines a property that is not enumerable. Writable and configurable: a proxy must return read-only ones unchanged. */
export function defineHidden(object: object, name: PropertyKey, value: unknown): void {
  Object.defineProperty(object, name, { value, configurable: true, writable: true })
}

/** Adds properties to plain data that serializers and test runners do not see. */
export function withHidden<Plain extends object, Hidden extends object>(
  plain: Plain,
  hidden: Hidden,
): Plain & Hidden {
  for (const [name, value] of Object.entries(hidden)) defineHidden(plain, name, value)
  return plain as Plain & Hidden
}

/**
 * A property of a value of somebody else's: `undefined` if a getter throws, and nothing that other code has put on
 * `Object.prototype`. The client's own objects have all of their fields, if only as `undefined`.
 */
export function property(object: unknown, name: PropertyKey): unknown {
  try {
    const owner = Object(object)
    return name in Object.prototype && !Object.hasOwn(owner, name) ? undefined : owner[name]
  } catch {
    return undefined
  }
}
