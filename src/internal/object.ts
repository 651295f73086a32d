/** Whether an object is of no class. Each realm has its own `Object.prototype`. */
export function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object)
  return prototype === null || Object.hasOwn(prototype as object, 'isPrototypeOf')
}

/** Defines a property that is not enumerable. Not read-only, because a proxy must return read-only values unchanged. */
export function defineHidden(object: object, name: PropertyKey, value: unknown): void {
  Object.defineProperty(object, name, { value, configurable: true, writable: true })
}

/** Adds properties that are not enumerable to plain data. Serializers and test runners do not see them. */
export function withHidden<Plain extends object, Hidden extends object>(
  plain: Plain,
  hidden: Hidden,
): Plain & Hidden {
  for (const [name, value] of Object.entries(hidden)) defineHidden(plain, name, value)
  return plain as Plain & Hidden
}

/**
 * A property of a foreign value. `undefined` if a getter throws, or if the property comes from a polluted `Object.prototype`. The
 * client's own objects don't need this, because every field is set explicitly.
 */
export function property(object: unknown, name: PropertyKey): unknown {
  try {
    const owner = Object(object)
    return name in Object.prototype && !Object.hasOwn(owner, name) ? undefined : owner[name]
  } catch {
    return undefined
  }
}
