import { escapeNonAscii } from '../internal/describe.js'
import type { CommonOptions } from '../options.js'
import type { Bodies } from './checks/bodies.js'
import type { Field } from './fields.js'
import type { ProbeFinding } from './finding.js'

/** Client options that suit a service. Pass `limit` to each list, not to the client. */
export type SuggestedOptions = Partial<CommonOptions> & {
  /** Number of items per page. */
  limit?: number
}

const maxPageBytes = 1024 * 1024

export function suggestOptions(
  maxLimit: number | undefined,
  { itemBytes = 1 }: Bodies,
  isThrottled: boolean,
): SuggestedOptions {
  const concurrency = isThrottled ? 1 : 4
  if (maxLimit === undefined) return { concurrency }
  const fitting = Math.floor(maxPageBytes / itemBytes)
  return { limit: Math.max(1, Math.min(maxLimit, fitting)), concurrency }
}

const documented: Readonly<Record<string, string>> = {
  id: 'string',
  amount: 'number',
  currency: 'string',
  description: 'string',
}

/** The options as code, with a schema if the items are others than documented. */
export function toCode({ limit, concurrency }: SuggestedOptions, bodies: Bodies): string {
  const schema = toSchema(bodies)
  const client = `new Client({ baseUrl, apiKey, concurrency: ${concurrency} })`
  const params = limit === undefined ? (schema ? 'undefined' : '') : `{ limit: ${limit} }`
  const lines = [
    `import { Client } from 'virtual-accounts'`,
    ...(schema ? [`import * as z from 'zod'`, '', ...schema] : []),
    '',
    `const client = ${client}`,
    `const list = client.transactions.list(${params}${schema ? ', { schema }' : ''})`,
  ]
  return lines.join('\n')
}

// Longer ones would make lines that cannot be read.
const maxNameLength = 40

function toSchema({ fields, lostDigits }: Bodies): string[] | undefined {
  const named = fields.filter(({ name }) => name.length <= maxNameLength && name !== '__proto__')
  const isAsDocumented = named.every(({ name, types, isOptional }) => {
    return documented[name] === types.join() && !isOptional && !lostDigits.includes(`data[].${name}`)
  })
  if (isAsDocumented) return undefined
  const lines = named.map(field => {
    const key = /^[A-Za-z_$][\w$]*$/.test(field.name)
      ? field.name
      : escapeNonAscii(JSON.stringify(field.name))
    return `  ${key}: ${toZod(field, lostDigits.includes(`data[].${field.name}`))},`
  })
  return ['const schema = z.looseObject({', ...lines, '})']
}

function toZod({ types, isOptional }: Field, losesDigits: boolean): string {
  const given = new Set(losesDigits ? [...types, 'string'] : types)
  const isNullable = given.delete('null')
  const schemas = Array.from(given, toZodType)
  let code = schemas.length > 1 ? `z.union([${schemas.join(', ')}])` : (schemas[0] ?? 'z.null()')
  if (isNullable && schemas.length > 0) code += '.nullable()'
  return isOptional ? `${code}.optional()` : code
}

function toZodType(type: string): string {
  if (type === 'array') return 'z.array(z.unknown())'
  if (type === 'object') return 'z.looseObject({})'
  return `z.${type}()`
}

/** What to ask for each finding that is broken or could not be seen. */
const questions: Readonly<Record<string, string>> = {
  'wrong-key': 'What is the response to a wrong Api-Key?',
  redirect: 'Which base URL responds without a redirect?',
  envelope: 'Which path lists transactions, and in which envelope?',
  items: 'Which types do the fields of a transaction have?',
  digits: 'How large can numbers become, and can they be sent as strings?',
  'page-echo': 'Is `page` in a response always the page that was requested?',
  'limit-echo': 'Are `limit` and the number of items always as requested?',
  'max-limit': 'What is the largest `limit`, and what happens above it?',
  'page-beyond-end': 'What is the response to a page beyond the end?',
  'page-zero': 'Is the first page 1?',
  total: 'Does totalItems count the whole list?',
  'total-stable': 'Can items be removed from the list?',
  order: 'By which field is the list sorted, and is the order unique?',
  neighbours: 'Can an item be on two pages while nothing changes?',
  'rate-limit': 'What is the rate limit, per key and per address?',
  'retry-after': 'Does a 429 or 503 come with Retry-After, and in which form?',
  cache: 'Which caches are there between the service and its users?',
  cors: 'Which origins may call the service from a browser?',
  deactivate: 'Which status and body does deactivate have?',
  reactivate: 'Which status and body does reactivate have?',
  'same-key': 'Is a write applied once when its Idempotency-Key is sent again?',
  'same-key-other-request': 'What is the response to a key that was used for another request?',
  'deactivate-twice': 'What is the response to deactivating an inactive account?',
}

/** What no response can show. */
const alwaysAsk = [
  'Is `amount` in major or minor units, and does it depend on the currency?',
  'For how long is an Idempotency-Key remembered?',
]

export function questionsFor(findings: readonly ProbeFinding[]): string[] {
  const open = findings.filter(({ status }) => status !== 'kept')
  return [...open.flatMap(({ id }) => questions[id] ?? []), ...alwaysAsk]
}
