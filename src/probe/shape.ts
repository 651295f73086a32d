import { escapeControl } from '../internal/describe.js'

// A service may send anything: what is remembered and printed has limits, whatever arrives.
const maxDepth = 8
const maxFieldsOfObject = 200
const maxFields = 2_000
const maxNameLength = 100
const minKeysOfDictionary = 20

/** What all the places of one sample share. */
interface Limits {
  fieldsLeft: number
  isCut: boolean
  /** Whether a name may be shown: it may hold the API key. */
  readonly isShown: (name: string) => boolean
}

/** The JSON types of the values seen at one place, and of what is inside them. It holds no value. */
export class Shape {
  /** Number of values seen here. */
  count = 0
  /** `string`, `number`, `boolean`, `null`, `array` or `object`. */
  readonly types: Set<string> = new Set()
  /** A number had more digits than a double holds: the client returns such a number as a string. */
  hasLongNumbers = false
  /** The fields of objects. */
  readonly fields: Map<string, Shape> = new Map()
  /** There are fields that `fields` does not have, or values that are nested too deeply. */
  isCut = false
  /** The items of arrays; `undefined` if there was none. */
  items: Shape | undefined
  #objects = 0
  readonly #depth: number
  readonly #limits: Limits

  constructor(isShown: (name: string) => boolean, depth = 0, limits?: Limits) {
    this.#depth = depth
    this.#limits = limits ?? { fieldsLeft: maxFields, isCut: false, isShown }
  }

  // The second may lack a field: V8 sometimes takes a name of one escaped character, such as a line break, for another.
  /** Adds a value as JSON.parse returns it, and the same value as the client does: with long numbers as strings. */
  add(plain: unknown, exact: unknown): void {
    this.count++
    const type = jsonType(plain)
    this.types.add(type)
    if (type === 'number' && typeof exact === 'string') this.hasLongNumbers = true
    if (type === 'array') this.#addItems(plain as unknown[], exact as unknown[] | undefined)
    if (type === 'object') this.#addFields(plain as JsonObject, exact as JsonObject | undefined)
  }

  /** Whether some of the objects around it do not have this field. */
  isOptionalIn(parent: Shape): boolean {
    return this.count < parent.#objects
  }

  /** Whether its objects have keys of their own, such as ids: names would be as many as there are objects. */
  get isDictionary(): boolean {
    const fields = [...this.fields.values()]
    return fields.length > minKeysOfDictionary && fields.every(({ count }) => count * 2 < this.#objects)
  }

  /** Whether something is left out, here or anywhere in the sample. */
  get isSampleCut(): boolean {
    return this.#limits.isCut
  }

  #addItems(plain: readonly unknown[], exact: readonly unknown[] | undefined): void {
    for (const [index, item] of plain.entries()) {
      this.items ??= this.#createChild()
      this.items?.add(item, exact?.[index])
    }
  }

  #addFields(plain: JsonObject, exact: JsonObject | undefined): void {
    this.#objects++
    for (const name of Object.keys(plain)) {
      const field = this.fields.get(name) ?? this.#createField(name)
      field?.add(plain[name], exact?.[name])
    }
  }

  #createField(name: string): Shape | undefined {
    // A schema cannot name those that every object inherits: zod would find them where they are missing.
    const isUsable =
      this.fields.size < maxFieldsOfObject &&
      name.length <= maxNameLength &&
      !(name in Object.prototype) &&
      this.#limits.isShown(name)
    const field = isUsable ? this.#createChild() : undefined
    if (field) this.fields.set(name, field)
    else this.#cut()
    return field
  }

  #createChild(): Shape | undefined {
    const isOver = this.#depth === maxDepth || this.#limits.fieldsLeft === 0
    if (isOver) this.#cut()
    else this.#limits.fieldsLeft--
    return isOver ? undefined : new Shape(this.#limits.isShown, this.#depth + 1, this.#limits)
  }

  #cut(): void {
    this.isCut = true
    this.#limits.isCut = true
  }
}

type JsonObject = Readonly<Record<string, unknown>>

/** `string`, `number`, `boolean`, `null`, `array` or `object`. */
export function jsonType(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/** The JSON of a value; `undefined` for one that is nested too deeply for this engine. */
export function toJson(
  value: unknown,
  replacer?: (key: string, value: unknown) => unknown,
): string | undefined {
  try {
    return JSON.stringify(value, replacer)
  } catch {
    return undefined
  }
}

/** A zod schema, as code, that accepts every value of the shape; with a part of its fields, if not all are listed. */
export function toZod(shape: Shape, indent = '', isListed: (name: string) => boolean = () => true): string {
  const given = new Set(shape.types)
  if (shape.hasLongNumbers) given.add('string')
  const isNullable = given.delete('null')
  const schemas = Array.from(given, type => toZodType(type, shape, indent, isListed))
  // Null alone says nothing about the values that will follow it.
  if (schemas.length === 0) return 'z.unknown()'
  const code = schemas.length > 1 ? `z.union([${schemas.join(', ')}])` : (schemas[0] as string)
  return isNullable ? `${code}.nullable()` : code
}

function toZodType(type: string, shape: Shape, indent: string, isListed: (name: string) => boolean): string {
  if (type === 'array') return `z.array(${shape.items ? toZod(shape.items, indent) : 'z.unknown()'})`
  if (type !== 'object') return `z.${type}()`
  const fields = [...shape.fields].filter(([name]) => isListed(name))
  if (fields.length === 0) return 'z.looseObject({})'
  if (shape.isDictionary && fields.length === shape.fields.size) {
    const values = new Set(fields.map(([, field]) => toZod(field, indent)))
    return `z.record(z.string(), ${values.size === 1 && !shape.isCut ? [...values][0] : 'z.unknown()'})`
  }
  const lines = fields.map(([name, field]) => {
    const isNullOnly = field.types.size === 1 && field.types.has('null')
    const optional = field.isOptionalIn(shape) ? '.optional()' : ''
    const isLong = field.hasLongNumbers ? ' // long ones are strings' : ''
    const comment = isNullOnly ? ' // only null was seen' : isLong
    return `${indent}  ${toKey(name)}: ${toZod(field, `${indent}  `)}${optional},${comment}\n`
  })
  return `z.looseObject({\n${lines.join('')}${indent}})`
}

/** The name of a property. */
function toKey(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : toLiteral(name)
}

/** A text of others as a string literal of JavaScript, which it cannot end early. */
export function toLiteral(text: string): string {
  return `'${escapeControl(text.replaceAll(/['\\]/g, '\\$&'))}'`
}

const maxListed = 20
const maxListedLength = 40

/** The fields of a shape in words: `createdAt string, note? null or string`. */
export function describeFields(shape: Shape, isListed: (name: string) => boolean = () => true): string {
  const all = [...shape.fields].filter(([name]) => isListed(name))
  // Each name as a whole, as half an API key could not be found.
  const shown = all.filter(([name]) => name.length <= maxListedLength).slice(0, maxListed)
  const listed = shown.map(
    ([name, field]) =>
      `${name || '""'}${field.isOptionalIn(shape) ? '?' : ''} ${[...field.types].sort().join(' or ')}`,
  )
  const isAll = shown.length === all.length && !shape.isCut
  return [...listed, ...(isAll ? [] : ['and more'])].join(', ')
}

/** Where numbers are that have more digits than a double holds, as `amount` or `lines[].sum`. */
export function findLongNumbers(shape: Shape, path?: string): string[] {
  const found = shape.hasLongNumbers ? [path ?? 'the item'] : []
  if (shape.items) found.push(...findLongNumbers(shape.items, `${path ?? ''}[]`))
  for (const [name, field] of shape.fields) {
    const shown = name || '""'
    found.push(...findLongNumbers(field, path === undefined ? shown : `${path}.${shown}`))
  }
  return found
}
