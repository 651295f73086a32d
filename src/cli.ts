#!/usr/bin/env node
// npx virtual-accounts probe <baseUrl>. Imports only Node modules that Bun and Deno have, too.
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { parseArgs } from 'node:util'
// By the package's own name, so that the built command shares the code of the package.
import { inferSchema, type ProbeOptions, type ProbeStep, probe } from 'virtual-accounts/testing'

const usage = `Usage: npx virtual-accounts probe <baseUrl> [options]
       npx virtual-accounts schema <baseUrl> <path>

probe checks whether a service conforms to the API specification, and suggests
client options. schema reads up to five pages of a list, such as /transactions,
and prints a zod schema of its items. The API key is read from the environment
variable API_KEY, never from an argument.

  --allow-insecure-http       allow http: anyone on the network can read the key
  --version, -v               print the version
  --help, -h                  print this

Options of probe:
  --origin <origin>           also check CORS for pages of this origin
  --customer-id <id>          customer of the test account
  --virtual-account-id <id>   the test account
  --write                     deactivate and reactivate the test account;
                              without --write nothing is written
  --json                      print the report as JSON

Exit status of probe: 0 if nothing is broken, 1 if something is or the service
could not be probed, 2 after a wrong command, 130 after Ctrl-C.
Of schema: 0, 2 if there is no schema, or 130.`

const common = {
  'allow-insecure-http': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const
const ofProbe = {
  origin: { type: 'string' },
  'customer-id': { type: 'string' },
  'virtual-account-id': { type: 'string' },
  write: { type: 'boolean' },
  json: { type: 'boolean' },
} as const
type Flags = Readonly<Record<string, { readonly type: string }>>

interface Command {
  run: () => Promise<number>
  /** Each with an example. */
  arguments: Readonly<Record<string, string>>
  flags: Flags
}

const anyBaseUrl = { '<baseUrl>': 'https://api.example.com' }
const commands: Readonly<Record<string, Command>> = {
  probe: { run: runProbe, arguments: anyBaseUrl, flags: { ...common, ...ofProbe } },
  schema: { run: runSchema, arguments: { ...anyBaseUrl, '<path>': '/transactions' }, flags: common },
}

/** What is wrong with the arguments, in words for the user. */
class UsageError extends Error {}

// What is wrong with them is said by main.
const { values, positionals, tokens } = parseArgs({
  options: { ...common, ...ofProbe },
  allowPositionals: true,
  strict: false,
  tokens: true,
})
const [name, ...args] = positionals as [string?, ...string[]]
const [baseUrl = '', path = ''] = args

async function main(): Promise<number> {
  assertNode()
  if (values.help || values.version) {
    print(values.help ? usage : readPackage().version)
    return 0
  }
  if (name === undefined) throw new UsageError(usage)
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  checkKeys()
  if (command === undefined) throw unknown(`Unknown command${shown(`"${name}"`)}`, Object.keys(commands))
  checkFlags(name, command.flags)
  const expected = Object.keys(command.arguments)
  // Swapped, or only a path: a program has no page that a path could be resolved against.
  if (args.length !== expected.length || baseUrl.startsWith('/')) {
    const missing = expected.slice(args.length)
    // Not shown: one may be an API key.
    const problem =
      missing.length > 0 ? `missing ${missing.join(' and ')}` : `expected only ${expected.join(' and ')}`
    const example = ['npx virtual-accounts', name, ...Object.values(command.arguments)].join(' ')
    throw new UsageError(`${name}: ${problem}, as in\n  ${example}`)
  }
  return command.run()
}

/** Bun and Deno have versions of their own. */
function assertNode(): void {
  const { node, bun, deno } = process.versions
  if (bun || deno) return
  const [needed = ''] = /\d+/.exec(readPackage().engines.node) ?? []
  if (Number.parseInt(node, 10) >= Number(needed)) return
  throw new UsageError(`virtual-accounts needs Node ${needed} or later: this is Node ${node}`)
}

/** Before anything else that is wrong: what follows such an option is the key, not a command. */
function checkKeys(): void {
  for (const token of tokens) {
    if (token.kind !== 'option' || !/key|token/i.test(token.name)) continue
    const option = shown(token.rawName).trim() || 'API key'
    throw new UsageError(`${option}: arguments stay in the shell's history. ${howToPassKey}`)
  }
}

/** A word that was given, unless it may be an API key. */
function shown(given: string): string {
  return /^["a-z-]{1,20}$/i.test(given) ? ` ${given}` : ''
}

function checkFlags(command: string, known: Flags): void {
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const { name, rawName, value, inlineValue } = token
    const flag = Object.hasOwn(known, name) ? known[name] : undefined
    if (flag === undefined) {
      const flags = Object.keys(known).map(name => `--${name}`)
      throw unknown(`Unknown option${shown(rawName)} of ${command}`, flags)
    }
    const isMissing = !value || (value.startsWith('-') && !inlineValue)
    if (flag.type === 'string' && isMissing) throw new UsageError(`${rawName}: expected a value`)
    if (flag.type === 'boolean' && value !== undefined) throw new UsageError(`${rawName}: takes no value`)
  }
}

/** Names what is not known, and what is. */
function unknown(problem: string, known: string[]): UsageError {
  return new UsageError(`${problem}. There are: ${known.join(', ')} (--help explains them)`)
}

async function runProbe(): Promise<number> {
  const apiKey = readApiKey()
  const account = readAccount()
  const signal = interruptSignal(account !== undefined)
  const origin = values.origin as string | undefined
  const onProgress = createProgress(account ? 'deactivates and reactivates the test account' : 'read-only')
  const report = await probe({ baseUrl, apiKey, allowInsecureHttp, account, origin, signal, onProgress })
  print(values.json ? JSON.stringify(report, null, 2) : colored(report.toString(process.stdout.columns)))
  return report.findings.some(({ status }) => status === 'broken') ? 1 : 0
}

async function runSchema(): Promise<number> {
  if (/^[a-z]:[\\/]/i.test(path)) {
    throw new UsageError('path: Git Bash has changed it. Put MSYS_NO_PATHCONV=1 before the command')
  }
  if (!path.startsWith('/'))
    throw new UsageError('path: expected one that begins with /, such as /transactions')
  const onProgress = createProgress('read-only')
  const signal = interruptSignal(false)
  print(await inferSchema({ baseUrl, path, apiKey: readApiKey(), allowInsecureHttp, signal, onProgress }))
  if (!process.stdout.isTTY) warn('Done: the last lines say how to use it.')
  return 0
}

/** The exit status if there is no result. After a signal it is what shells expect. */
let failure = 2
const clearLine = '\r\x1b[K'
const howToPassKey =
  'In bash or zsh run: read -rs API_KEY && export API_KEY, then paste the key and press Enter'
const allowInsecureHttp = values['allow-insecure-http'] === true

function readApiKey(): string {
  const apiKey = process.env.API_KEY
  if (apiKey) return apiKey
  throw new UsageError(`API_KEY is not set. ${howToPassKey}`)
}

function readAccount(): ProbeOptions['account'] {
  const customerId = values['customer-id'] as string | undefined
  const virtualAccountId = values['virtual-account-id'] as string | undefined
  if ((customerId === undefined) !== (virtualAccountId === undefined)) {
    throw new UsageError('--customer-id and --virtual-account-id: expected both or neither')
  }
  if (customerId === undefined || virtualAccountId === undefined) {
    if (!values.write) return undefined
    throw new UsageError('--write needs a test account: pass --customer-id and --virtual-account-id')
  }
  if (values.write) return { customerId, virtualAccountId }
  warn('Read-only: add --write to deactivate and reactivate the test account.')
  return undefined
}

/** Lets a probe reactivate the test account before the program ends. */
function interruptSignal(isWriting: boolean): AbortSignal {
  const controller = new AbortController()
  const end = isWriting
    ? 'No deactivation was confirmed, or the service has confirmed the reactivation.'
    : 'Interrupted.'
  for (const [name, status] of Object.entries({ SIGHUP: 129, SIGINT: 130, SIGTERM: 143 })) {
    // Not once: npx may send a second one for the same Ctrl-C, and a terminal that is closed does.
    process.on(name, () => {
      if (controller.signal.aborted) return
      failure = status
      if (isWriting) warn('Interrupted. Reactivating the test account, if it was deactivated ...')
      controller.abort(new UsageError(end))
    })
  }
  return controller.signal
}

/** Says first how many requests there are at most, then, on a terminal, which one is next. */
function createProgress(mode: string): (step: ProbeStep) => void {
  let isFirst = true
  return ({ done, total, name }) => {
    if (isFirst) warn(`At most ${total} requests, one at a time; ${mode}.`)
    isFirst = false
    if (!process.stderr.isTTY) return
    const columns = process.stderr.columns || 80
    process.stderr.write(`${clearLine}${`${done + 1}/${total} ${name}`.slice(0, columns - 1)}`)
  }
}

/** What is broken in red, on a terminal. */
function colored(report: string): string {
  const { NO_COLOR, FORCE_COLOR } = process.env
  if (NO_COLOR || !(process.stdout.isTTY || Number(FORCE_COLOR) > 0)) return report
  return report.replace(/^(?:(?:\d+ )?broken|failed|Not probed)/gm, '\x1b[31m$&\x1b[39m')
}

/** Where it is beside both the source and the built command. */
function readPackage(): { version: string; engines: { node: string } } {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
}

function print(text: string): void {
  clearProgress()
  process.stdout.write(`${text}\n`)
}

function warn(text: string): void {
  clearProgress()
  process.stderr.write(`${text}\n`)
}

function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write(clearLine)
}

// The reader of a pipe may have enough: head -1. But nobody then knows what became of a test account.
process.stdout.on('error', (error: Error & { code?: string }) => {
  if (error.code === 'EPIPE' && !values.write) return
  const account = values.write ? '. The test account may be inactive: check it' : ''
  warn(`The output could not be written: ${error.message}${account}`)
  process.exitCode = 2
})

// The terminal may be closed: the test account is reactivated nevertheless.
process.stderr.on('error', () => {})

/** It may have been given as another argument. */
function withoutKey(text: string): string {
  const { API_KEY = '' } = process.env
  return API_KEY.length < 8 ? text : text.replaceAll(API_KEY, '[api key]')
}

main().then(
  status => {
    process.exitCode = status
  },
  (error: unknown) => {
    const message = (error as Partial<Error> | undefined)?.message ?? String(error)
    warn(
      withoutKey(message)
        .replace('allowInsecureHttp: true', '--allow-insecure-http')
        .replace(/^apiKey\b|(?<=Check (?:that )?)apiKey\b/, 'API_KEY')
        // Nobody has the error.
        .replace(/ See error\.body\.|; elsewhere, see error\.cause/, ''),
    )
    process.exitCode = failure
  },
)
