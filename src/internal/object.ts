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

// Other code may have polluted `Object.prototype`: no field that is left out is read from there.

// Not `null` as prototype: engines treat such objects as dictionaries, which is slow.
const nothing = /* @__PURE__ */ Object.freeze(/* @__PURE__ */ Object.create(null))

/** A copy that inherits nothing. */
export function withoutPrototype<T extends object>(fields: T): T {
  return Object.assign(Object.create(nothing), fields)
}

/** A property of an object that is not the client's own. */
export function property(object: unknown, name: PropertyKey): unknown {
  const owner = Object(object)
  return name in Object.prototype && !Object.hasOwn(owner, name) ? undefined : owner[name]
}

export function properties(object: unknown, names: readonly PropertyKey[]): unknown[] {
  return names.map(name => property(object, name))
}
