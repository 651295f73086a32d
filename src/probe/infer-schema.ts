import { Client, type ClientOptions } from '../index.js'
import { assertObject } from '../internal/arguments.js'
import { escapeUnit } from '../internal/describe.js'
import { countOf } from './finding.js'
import { groupByKey } from './group.js'
import type { ProbeOptions } from './probe.js'
import { isConclusive, readPage } from './read.js'
import { wrap } from './wrap.js'

/** Options of {@link inferSchema}. It also takes the options of the client. */
export interface InferSchemaOptions extends Omit<ProbeOptions, 'account' | 'origin'> {
  /** Path of the list after `baseUrl`, such as `/refunds`. */
  path: string
}

/**
 * Reads up to five pages of a list and returns TypeScript code: a zod schema of its items, their type, and a function that lists
 * them. If the path is not a list, the schema describes the response body.
 *
 * The schema accepts every item that was read. A field that some items lack is optional. Objects may have additional fields. No
 * string is an enum, because other items may have other values. A number that JavaScript would round is a string, as in the
 * client. The code shows names and types, but no values.
 *
 * @throws Error if there is no item. ApiError if the first page cannot be fetched. TypeError for a wrong option.
 * @example
 * ```ts
 * const code = await inferSchema({ baseUrl: 'https://api.example.com', apiKey, path: '/refunds' })
 * ```
 */
export async function inferSchema(options: InferSchemaOptions): Promise<string> {
  const { path, signal = new AbortController().signal, ...others } = assertObject('options', options)
  const client = new Client(others as ClientOptions)
  let limit: number | undefined = 100
  const read = (page: number) => readPage({ client, signal, path }, page, limit)
  let first = await read(1)
  if (first.value ? first.value.data.length === 0 : isConclusive(first)) {
    // The service may refuse this limit.
    limit = undefined
    first = await read(1)
  }
  const name = toName(path)
  const title = capitalized(name)
  if (!first.value) {
    const { error, problem } = first
    if (error?.kind !== 'invalid-response' || typeof error.body !== 'object') throw error
    const use = `/**
 * @example
 * const { data } = await get${title}(client)
 */
export function get${title}(client: Client) {
  return client.request('GET', ${toLiteral(path)}, { schema: ${name}Schema })
}`
    return toFile('Response', name, [error.body], [`The response is not a list: ${problem}`], use, options)
  }
  // Old items may differ from new ones, so the pages are spread over the whole list.
  const { pageCount } = first.value
  const numbers = new Set([0.25, 0.5, 0.75, 1].map(part => Math.round(pageCount * part)))
  const reads = [first]
  for (const page of numbers) if (page > 1) reads.push(await read(page))
  const pages = reads.flatMap(({ value }) => value ?? [])
  const items = pages.flatMap(({ data }) => data)
  if (items.length === 0)
    throw new Error(`GET ${path}: the list is empty: there is no item to make a schema from.`)
  const failed = reads.find(({ problem }) => problem !== undefined)
  const comments = [
    `From ${countOf(items.length, 'item')} of ${path}, on ${pages.length} of ${countOf(pageCount, 'page')}. Other items may differ.`,
    ...(failed ? [`Not read: ${failed.problem}`] : []),
  ]
  const hasIds = items.every(item => ['string', 'number'].includes(typeof Object(item).id))
  const use = `/**
 * @example
 * for await (const item of list${title}(client)) console.log(item)
 */
export function list${title}(
  client: Client,
  options?: ListOptions<${title}Item>,
) {
  return client.list(${toLiteral(path)}, ${limit === undefined ? '{}' : `{ limit: ${limit} }`}, {
    ...options,
    schema: ${name}Schema,
    ${hasIds ? 'itemKey: item => item.id,' : '// Add itemKey (returns a unique key): pages overlap only with it.'}
  })
}`
  return toFile('Item', name, items, comments, use, options)
}

function toFile(
  kind: 'Item' | 'Response',
  name: string,
  values: readonly unknown[],
  comments: readonly string[],
  use: string,
  { apiKey }: InferSchemaOptions,
): string {
  const limits = { fieldsLeft: maxFields, isCut: false, secret: apiKey || undefined }
  const schema = toZod(values, limits)
  const cut = limits.isCut ? ['Some fields are left out: too many, nested too deeply or oddly named.'] : []
  const lines = [...comments, ...cut].flatMap(comment => wrap(comment, '   '))
  return `${lines.map(line => line.replace('  ', '//')).join('\n')}
import type { ${kind === 'Item' ? 'Client, ListOptions' : 'Client'} } from 'virtual-accounts'
import * as z from 'zod'

export const ${name}Schema = ${schema}

export type ${capitalized(name)}${kind} = z.infer<typeof ${name}Schema>

${use}`
}

// A service may send anything, so the printed code has limits.
const maxFields = 2_000
const maxFieldsOfObject = 200
const maxNameLength = 100
const maxDepth = 8
const minKeysOfRecord = 20

interface Limits {
  fieldsLeft: number
  isCut: boolean
  readonly secret: string | undefined
}

/** Code of a zod schema that accepts all these values. */
function toZod(values: readonly unknown[], limits: Limits, depth = 0, indent = ''): string {
  const byType = groupByKey(values.map(value => [typeOf(value), value]))
  const isNullable = byType.delete('null')
  if (byType.size === 0) return 'z.unknown()'
  if (depth > maxDepth) {
    limits.isCut = true
    return 'z.unknown()'
  }
  const schemas = Array.from(byType, ([type, values]) => {
    if (type === 'array')
      return `z.array(${toZod((values as unknown[][]).flat(), limits, depth + 1, indent)})`
    return type === 'object' ? toZodObject(values as object[], limits, depth, indent) : `z.${type}()`
  })
  const code = schemas.length === 1 ? `${schemas[0]}` : `z.union([${schemas.join(', ')}])`
  return isNullable ? `${code}.nullable()` : code
}

function toZodObject(objects: readonly object[], limits: Limits, depth: number, indent: string): string {
  const fields = groupByKey<string, unknown>(objects.flatMap(object => Object.entries(object)))
  // If the names are ids, for example, there would be a field for each.
  const isRecord =
    fields.size > minKeysOfRecord && [...fields.values()].every(({ length }) => length * 2 < objects.length)
  if (isRecord)
    return `z.record(z.string(), ${toZod([...fields.values()].flat(), limits, depth + 1, indent)})`
  const shown = [...fields]
    .filter(([name]) => isUsable(name, limits))
    .slice(0, Math.min(maxFieldsOfObject, limits.fieldsLeft))
  limits.fieldsLeft -= shown.length
  if (shown.length < fields.size) limits.isCut = true
  if (shown.length === 0) return 'z.looseObject({})'
  const lines = shown.map(([name, values]) => {
    const optional = values.length < objects.length ? '.optional()' : ''
    const isOnlyNull = values.every(value => value === null)
    const comment = isOnlyNull ? ' // only null was seen' : ''
    return `${indent}  ${toKey(name)}: ${toZod(values, limits, depth + 1, `${indent}  `)}${optional},${comment}\n`
  })
  return `z.looseObject({\n${lines.join('')}${indent}})`
}

/** Zod would read a missing field from `Object.prototype` if every object inherits one of that name. */
function isUsable(name: string, { secret }: Limits): boolean {
  const isSecret = secret !== undefined && name.includes(secret)
  return !isSecret && name.length <= maxNameLength && !(name in Object.prototype)
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function toKey(name: string): string {
  return /^[a-z_$][\w$]*$/i.test(name) ? name : toLiteral(name)
}

/** Foreign text as a literal, escaped. */
function toLiteral(text: string): string {
  return `'${text.replace(/['\\]|[^ -~]/g, escapeUnit)}'`
}

/** Turns `/customers/c1/virtual_accounts` into `virtualAccounts`. Uses letters and digits of the last segment, or `list`. */
function toName(path: string): string {
  const segment = path.split('/').findLast(Boolean) ?? ''
  const words = segment.match(/[a-z][a-z\d]*/gi) ?? ['list']
  const name = words.map(capitalized).join('')
  return name.replace(/^./, letter => letter.toLowerCase())
}

function capitalized(word: string): string {
  return word.replace(/^./, letter => letter.toUpperCase())
}
