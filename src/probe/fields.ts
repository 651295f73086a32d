import { typeName } from '../internal/describe.js'

/** Which types a field has, and whether every object has it. */
export interface Field {
  readonly name: string
  /** `string`, `number`, `boolean`, `null`, `array` or `object`. */
  readonly types: readonly string[]
  readonly isOptional: boolean
}

/** The names and types of the fields of some objects. Values that are not objects have none. */
export function fieldsOf(values: readonly unknown[]): Field[] {
  const objects = values.filter(isObject)
  const fields = new Map<string, { types: Set<string>; count: number }>()
  for (const object of objects) {
    for (const [name, value] of Object.entries(object)) {
      const field = fields.get(name) ?? { types: new Set(), count: 0 }
      fields.set(name, field)
      field.types.add(typeName(value).replace(/^an? /, ''))
      field.count++
    }
  }
  return Array.from(fields, ([name, { types, count }]) => ({
    name,
    types: [...types].sort(),
    isOptional: count < objects.length,
  }))
}

const maxListed = 20
const maxNameLength = 40

/** `createdAt string, note? string or null`. */
export function formatFields(fields: readonly Field[]): string {
  const listed = fields
    .slice(0, maxListed)
    .map(({ name, types, isOptional }) => {
      return `${shorten(name)}${isOptional ? '?' : ''} ${types.join(' or ')}`
    })
    .join(', ')
  const more = fields.length - maxListed
  return more > 0 ? `${listed}, and ${more} more` : listed
}

function shorten(name: string): string {
  return name.length > maxNameLength ? `${name.slice(0, maxNameLength)}...` : name
}

/** What a JSON body is, by names and types only. */
export function formatShape(value: unknown): string {
  if (value === undefined) return 'no body'
  if (!isObject(value)) return typeName(value)
  const fields = fieldsOf([value])
  return fields.length === 0 ? 'an empty object' : `an object (${formatFields(fields)})`
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
