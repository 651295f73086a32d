import { escapeControl } from '../internal/describe.js'
import { countOf } from './findings.js'
import { isMiscounted, isMisnumbered } from './list.js'
import { type InferSchemaOptions, readInferSchemaOptions } from './options.js'
import { lastPageNumber, missingOn } from './page.js'
import { toClientLines } from './report.js'
import { maxRepeats, type PageOutcome, Session } from './session.js'
import { type Shape, toLiteral, toZod } from './shape.js'

const maxPages = 5

/**
 * Reads up to five pages of a list, of 100 items if the service allows it, and returns a zod schema of its items, with its
 * type and an example, as TypeScript: a file to import from. Where the path is no list, it describes the body of one response.
 *
 * It accepts every item that was read. A field that some items lack is optional; objects may have more fields than it names;
 * and no string is an enum, as other items may have other values. A number that JavaScript would round arrives as a string,
 * so such a field accepts both. It shows names and types, never a value.
 *
 * @throws Error if there is no item, or no JSON. ApiError if the first page cannot be fetched. TypeError for an unknown or
 * wrong option.
 * @example
 * ```ts
 * const code = await inferSchema({ baseUrl: 'https://api.example.com', apiKey, path: '/refunds' })
 * ```
 */
export async function inferSchema(given: InferSchemaOptions): Promise<string> {
  const options = readInferSchemaOptions(given)
  const session = new Session(options, options.path, 1 + maxPages + maxRepeats)
  const path = escapeControl(session.redact(String(options.path)))
  const { sample } = session
  let limit: number | undefined = 100
  let first = await session.getPage({ limit })
  if (!first.page?.count || missingOn(first.page) > 0) {
    // Perhaps the service refuses such a limit, or does not obey it.
    limit = undefined
    // Page 1 is read again, and counts once.
    sample.items = 0
    sample.pages = 0
    first = await session.getPage()
  }
  const { page, problems, error } = first
  if (page === undefined) {
    const problem = `this is no page of a list: ${escapeControl(session.redact(problems.join('; ')))}`
    if (error || !sample.otherBody) throw error ?? new Error(`GET ${path}: ${problem}.`)
    return toFile(session, options, sample.otherBody, undefined, [
      `// From one response of ${path}, and for one response:`,
      `// ${problem}.`,
    ])
  }
  // Old items may differ from new ones: pages from the whole list show more than the first ones.
  const last = lastPageNumber(page, page.limit)
  const others = new Set(
    [0.25, 0.5, 0.75, 1].map(part => Math.round(last * part)).filter(number => number > 1),
  )
  for (const number of others) await session.getPage({ page: number, limit })
  if (sample.items === 0) throw new Error(`GET ${path}: no item was read to make a schema from.`)
  const reads = session.reads.slice(session.reads.indexOf(first))
  const isRefused = ({ page, verdict }: PageOutcome) => !page && verdict !== 'none'
  const isWrong = reads.some(read => isRefused(read) || isMisnumbered(read) || isMiscounted(read))
  return toFile(session, options, sample.item, limit === undefined ? '{}' : `{ limit: ${limit} }`, [
    `// From ${countOf(sample.items, 'item')} of ${path}, on ${sample.pages} of ${countOf(last, 'page')}.`,
    ...(sample.pages === last ? [] : ['// If others differ, a loop throws, and names the field.']),
    ...(isWrong
      ? ['// The pages do not add up: if the list did not change meanwhile, a loop can fail or miss items.']
      : []),
  ])
}

/** A file with the schema of the items of a list, with the params to read it, or of the body of a response. */
function toFile(
  session: Session,
  options: InferSchemaOptions,
  shape: Shape,
  params: string | undefined,
  comments: readonly string[],
): string {
  const { baseUrl, apiKey, allowInsecureHttp } = options
  const path = session.redact(options.path)
  const name = toName(path)
  const schema = `${name}Schema`
  const suffix = params === undefined ? 'Body' : 'Item'
  const use =
    params === undefined
      ? [
          `const { data } = await client.request('GET', ${toLiteral(path)}, { schema: ${schema} })`,
          'console.log(data)',
        ]
      : [
          `const list = client.list(${toLiteral(path)}, ${params}, { schema: ${schema} })`,
          'for await (const item of list) console.log(item)',
        ]
  const example = [
    `To read it, save this file as ${name}.mts, remove the slashes from the lines below, and run:`,
    `npm install zod virtual-accounts @types/node && node ${name}.mts`,
    '',
    "import { Client } from 'virtual-accounts'",
    '',
    ...toClientLines({
      baseUrl: session.redact(String(baseUrl)),
      hasKey: apiKey !== null,
      allowInsecureHttp: allowInsecureHttp === true,
    }),
    ...use,
  ]
  return [
    ...comments,
    ...(shape.isSampleCut
      ? ['// Fields that are too many, nested too deeply, or oddly named are left out.']
      : []),
    "import * as z from 'zod'",
    '',
    `export const ${schema} = ${toZod(shape)}`,
    '',
    `export type ${capitalized(name)}${suffix} = z.infer<typeof ${schema}>`,
    '',
    ...example.map(line => `// ${line}`.trimEnd()),
  ].join('\n')
}

/** `/customers/c1/virtual_accounts` as `virtualAccounts`: letters and digits of the last segment, or `list` without any. */
function toName(path: string): string {
  const segment = path.split('/').findLast(Boolean) ?? ''
  const words = segment.match(/[a-z][a-z\d]*/gi) ?? ['list']
  const [first = '', ...others] = words.map(capitalized)
  return [first.replace(/^./, letter => letter.toLowerCase()), ...others].join('')
}

function capitalized(word: string): string {
  return word.replace(/^./, letter => letter.toUpperCase())
}
