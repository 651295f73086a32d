import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { checkEach } from '../support.ts'

// What an editor shows: TypeScript's language service over a program that uses the package.

const file = fileURLToPath(new URL('program-in-an-editor.ts', import.meta.url))
const configFile = fileURLToPath(new URL('../tsconfig.json', import.meta.url))
const { config } = ts.readConfigFile(configFile, ts.sys.readFile)
const { options } = ts.parseJsonConfigFileContent(
  config,
  ts.sys,
  fileURLToPath(new URL('..', import.meta.url)),
)

const before = `import * as va from 'virtual-accounts'
declare const client: va.Client, account: va.VirtualAccountRef, list: va.List<va.Transaction>
declare const page: va.Page<va.Transaction>, batch: va.Batch<va.Transaction>, result: va.Result<unknown>
`
const types = [
  ...['Client', 'VirtualAccounts', 'Transactions', 'VirtualAccountRef', 'Transaction'],
  ...['ClientOptions', 'ListParams', 'ListOptions', 'CustomRequestOptions', 'Result<unknown>'],
  ...['RequestEvent', 'ResponseEvent', 'RetryEvent', 'FailureEvent', 'DriftEvent', 'EndEvent'],
]

const hovers: [code: string, hover: RegExp][] = [
  ['new va.Cli|ent', /^Creates a client/],
  ['client.virtualAccounts.re|activate(account)', /^Reactivates a virtual account/],
  ['client.virtualAccounts.de|activate(account)', /^Deactivates a virtual account/],
  ['client.transactions.li|st()', /^Lists transactions/],
  ["client.li|st('/refunds', {}, { schema: null! })", /^Lists the items of an endpoint that has no method/],
  ["client.req|uest('GET', '/refunds')", /^Calls an endpoint that has no method/],
  ['client.with|Options({})', /^Creates a client with some options replaced/],
  ['list.bat|ches()', /\bbatch/i],
  ['page.next|Page()', /^Fetches the page after this one/],
  ['type A = va.Request|Event', /^A request is about to be sent/],
  ['type A = va.Response|Event', /^A response has arrived/],
  ['type A = va.Retry|Event', /^An attempt failed\. The client retries the call/],
  ['type A = va.Failure|Event', /^A call failed/],
  ['type A = va.Drift|Event', /^A list changed/],
  ['type A = va.End|Event', /^A loop over a list reached its end/],
]

/** What a hover shows above its text. */
const heads: [code: string, head: string][] = [
  [
    'client.transactions.li|st()',
    '(method) Transactions.list(params?: ListParams, options?: ListOptions<Transaction>): List<Transaction> (+1 overload)',
  ],
  [
    'client.virtualAccounts.de|activate(account)',
    '(method) VirtualAccounts.deactivate(account: VirtualAccountRef, options?: WriteOptions): Promise<Result<unknown, string>> (+1 overload)',
  ],
  [
    "client.req|uest('GET', '/refunds')",
    '(method) Client.request<"GET">(method: "GET", path: string, options?: CustomRequestOptions): Promise<Result<unknown, undefined>> (+1 overload)',
  ],
]

const completions: [code: string, type: string][] = [
  ['new va.Client({ | })', 'ClientOptions'],
  ['client.withOptions({ | })', 'ClientOptions'],
  ['client.transactions.list({ | })', 'ListParams'],
  ['client.transactions.list({}, { | })', 'ListOptions'],
  ['client.virtualAccounts.deactivate({ | })', 'VirtualAccountRef'],
  ['client.virtualAccounts.reactivate(account, { | })', 'WriteOptions'],
  ["client.request('POST', '/refunds', { | })", 'CustomRequestOptions'],
]

const signatures: [code: string, parameters: string[]][] = [
  ['new va.Client(|)', ['options']],
  ['client.withOptions(|)', ['options']],
  ['client.transactions.list(|)', ['params', 'options']],
  ['client.list(|)', ['path', 'params', 'options']],
  ['client.virtualAccounts.deactivate(|)', ['account', 'options']],
  ['client.request(|)', ['method', 'path', 'options']],
]

const membersCode = (type: string) => `let value!: va.${type}; value.|`
/** Every program at once, as each change of the text would compile it again. "|" is the cursor. */
const codes = [
  ...[...types, 'WriteOptions'].map(membersCode),
  ...[...hovers, ...completions, ...signatures, ...heads].map(([code]) => code),
]
const inBlock = (code: string) => `{ ${code} }\n`
const text = before + codes.map(code => inBlock(code).replace('|', '')).join('')
const positionOf = (code: string) => text.indexOf(inBlock(code).replace('|', '')) + inBlock(code).indexOf('|')

const service = ts.createLanguageService({
  ...ts.sys,
  useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
  getCompilationSettings: () => options,
  getDefaultLibFileName: ts.getDefaultLibFilePath,
  getScriptFileNames: () => [file],
  getScriptVersion: () => '0',
  getScriptSnapshot: name => {
    const source = name === file ? text : ts.sys.readFile(name)
    return source === undefined ? undefined : ts.ScriptSnapshot.fromString(source)
  },
  getCurrentDirectory: ts.sys.getCurrentDirectory,
  fileExists: name => name === file || ts.sys.fileExists(name),
})

/** The members of a type that the package declares, each with the first sentence of its hover text. */
function membersOf(type: string): Map<string, string> {
  const position = positionOf(membersCode(type))
  const members = new Map<string, string>()
  const entries = service.getCompletionsAtPosition(file, position, undefined)?.entries ?? []
  for (const { name } of entries.filter(({ kind }) => kind !== ts.ScriptElementKind.warning)) {
    const details = service.getCompletionEntryDetails(file, position, name, {}, undefined, {}, undefined)
    const comment = ts.displayPartsToString(details?.documentation)
    members.set(name, comment.split(/(?<=[.:])\s/)[0] ?? '')
  }
  return members
}

function hoverOf(code: string): string {
  return ts.displayPartsToString(service.getQuickInfoAtPosition(file, positionOf(code))?.documentation)
}

test('every public method, option and event property has a first sentence of its own', () =>
  checkEach(types, type => {
    const members = membersOf(type)
    expect(members.size).toBeGreaterThan(0)
    for (const [name, sentence] of members) expect(sentence, name).toMatch(/^[^a-z].*[.:;]/)
    expect(new Set(members.values()).size, [...members.values()].join('\n')).toBe(members.size)
  }))

test('the hover text says what it is', () =>
  checkEach(hovers, ([code, hover]) => expect(hoverOf(code)).toMatch(hover)))

test('the head of a hover is short, although the method has overloads', () =>
  checkEach(heads, ([code, head]) => {
    const parts = service.getQuickInfoAtPosition(file, positionOf(code))?.displayParts
    expect(ts.displayPartsToString(parts).replaceAll('va.', '').replace(/\s+/g, ' ')).toBe(head)
  }))

test('completions offer the options, and only those', () =>
  checkEach(completions, ([code, type]) => {
    const offered = service.getCompletionsAtPosition(file, positionOf(code), undefined)?.entries
    const names = offered?.map(({ name }) => name)
    expect(names?.sort()).toEqual([...membersOf(type).keys()].sort())
  }))

test('signature help shows the parameters', () =>
  checkEach(signatures, ([code, parameters]) => {
    const help = service.getSignatureHelpItems(file, positionOf(code), undefined)?.items
    expect(help?.length).toBeGreaterThan(0)
    for (const overload of help ?? []) expect(overload.parameters.map(({ name }) => name)).toEqual(parameters)
  }))
