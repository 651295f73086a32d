#!/usr/bin/env node
import { createRequire } from 'node:module'
import process from 'node:process'
// A missing named export would fail before the message about old versions of Node.
import util, { type ParseArgsConfig, parseArgs } from 'node:util'
// The package's own name lets the built command share the package's code.
import type { ClientEvent } from 'virtual-accounts'
import { inferSchema, type ProbeOptions, probe } from 'virtual-accounts/probe'
import { didYouMean } from '../internal/arguments.js'
import { describe } from '../internal/describe.js'
import { wrap } from '../probe/wrap.js'
import { serveFake } from './fake-server.js'

const usage = `Usage: virtual-accounts <command> [options]

probe <baseUrl>           Checks whether a service works as the client expects.
  --origin <origin>         Also checks CORS for pages of this origin.
  --customer-id <id> --virtual-account-id <id> --write
                            Also deactivates and reactivates this test account.
  --json                    Prints the report as JSON.

schema <baseUrl> <path>   Prints code that reads a list, with a zod schema.

fake                      Serves a fake service on this machine.
  --port <port>             Default: 4010. 0 takes any free port.
  --transactions <count>    Default: 250.
  --faults <fault,…>        Makes every fourth request fail, with each in turn:
                            a status, network-error, truncate or hang.
  --rate <count>            Requests per second. Extra requests get a 429.

help                      Prints this; --version prints the version.

probe and schema read the API key from the environment variable API_KEY. With
--allow-insecure-http, they accept http, and anyone on the network can then
read the key.

Exit status: 0 for success, 1 if something is broken or failed, 2 for a wrong
command.`

const host = 'https://api.example.com'

class UsageError extends Error {}

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const commands: Readonly<Record<string, (args: string[]) => Promise<number>>> = {
  async probe(args) {
    const { values, positionals } = parse('probe', args, [host], {
      'allow-insecure-http': flag,
      origin: text,
      'customer-id': text,
      'virtual-account-id': text,
      write: flag,
      json: flag,
    })
    const [baseUrl = ''] = positionals
    const { origin, write = false, json = false } = values
    const { 'customer-id': customerId = '', 'virtual-account-id': virtualAccountId = '' } = values
    if (new Set([write, customerId !== '', virtualAccountId !== '']).size > 1)
      throw new UsageError('Pass --customer-id, --virtual-account-id and --write together, or none of them.')
    const account = write ? { customerId, virtualAccountId } : undefined
    const report = await probe({ ...connection('probe', baseUrl, values), account, origin })
    print(json ? JSON.stringify(report, null, 2) : styled(String(report)))
    return report.findings.some(({ status }) => status === 'broken') ? 1 : 0
  },

  async schema(args) {
    const options = { 'allow-insecure-http': flag }
    const { values, positionals } = parse('schema', args, [host, '/transactions'], options)
    const [baseUrl = '', path = ''] = positionals
    const [, plain = ''] = /^\/*([^?#]*)/.exec(path) ?? []
    if (path !== `/${plain}`)
      throw new UsageError(`schema: path must start with "/" and have no query: try /${plain}`)
    print(await inferSchema({ ...connection('schema', baseUrl, values), path }))
    return 0
  },

  async fake(args) {
    const options = { port: text, transactions: text, faults: text, rate: text }
    const { port = '4010', transactions = '250', faults = '', rate } = parse('fake', args, [], options).values
    if (rate !== undefined && !(Number(rate) > 0 && Number(rate) < Number.POSITIVE_INFINITY))
      throw new UsageError(`--rate: expected a number above 0, got ${rate}`)
    const served = await serveFake({
      port: toNumber('port', port, 65_535),
      transactions: toNumber('transactions', transactions, 1_000_000),
      faults: faults.split(/[\s,]+/).filter(Boolean),
      rate: rate === undefined ? undefined : Number(rate),
      log: line => print(coloured(line)),
    })
    print(`${served.introduction}\n`)
    interrupted.signal.addEventListener('abort', served.close)
    return 0
  },
}

/** Aborted by Ctrl-C and by a closed terminal, so a probe reactivates its test account before it ends. */
const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => interrupted.abort(new Error('Interrupted.')))
// A closed terminal must not end a probe early. `… | head` closes the pipe on purpose.
process.stderr.on('error', () => {})
process.stdout.on('error', () => interrupted.abort())

/** Parses the arguments of a command. `examples` shows the required ones. Its messages guess names, unlike Node's. */
function parse<const T extends NonNullable<ParseArgsConfig['options']>>(
  command: string,
  args: string[],
  examples: readonly string[],
  options: T,
) {
  const config = { args, options, allowPositionals: true } as const
  const names = Object.keys(options).map(name => `--${name}`)
  for (const token of parseArgs({ ...config, strict: false, tokens: true }).tokens) {
    if (token.kind !== 'option') continue
    const { name, rawName, value, inlineValue } = token
    const option = Object.hasOwn(options, name) ? options[name] : undefined
    if (!option) {
      const key = command === 'fake' ? '' : ' The API key is read from the environment variable API_KEY.'
      const known = `Options of ${command} are: ${names.join(', ')}.`
      throw new UsageError(`${rawName}: unknown option. ${didYouMean(rawName, names)}${known}${key}`)
    }
    const got = value === undefined ? '' : `, got ${value}`
    const isMissing = value === undefined || (!inlineValue && value.startsWith('-'))
    if (option.type === 'boolean' ? got : isMissing)
      throw new UsageError(`${rawName}: expected ${option.type === 'boolean' ? 'no' : 'a'} value${got}`)
  }
  const parsed = parseArgs(config)
  if (parsed.positionals.length < examples.length)
    throw new UsageError(
      `${command}: too few arguments. Run: virtual-accounts ${command} ${examples.join(' ')}`,
    )
  const surplus = parsed.positionals[examples.length]
  const hint = command === 'fake' && /^\d+$/.test(surplus ?? '') ? `. Did you mean --port ${surplus}?` : ''
  if (surplus !== undefined) throw new UsageError(`${command}: unexpected argument: ${surplus}${hint}`)
  return parsed
}

function toNumber(option: string, digits: string, max: number): number {
  const value = Number(digits)
  if (/^\d+$/.test(digits) && value <= max) return value
  throw new UsageError(`--${option}: expected a whole number from 0 to ${max}, got ${digits}`)
}

const hasColours = process.stdout.isTTY && !process.env.NO_COLOR

/** A line of the fake's log. On a terminal, the outcome has a colour. */
function coloured(line: string): string {
  if (!hasColours) return line
  return line.replace(/(?<=→ ).*?(?= \(fault\)|$)/, outcome => {
    const colour = /^[1-3]\d\d$/.test(outcome) ? 'green' : /^4\d\d$/.test(outcome) ? 'yellow' : 'red'
    return util.styleText(colour, outcome)
  })
}

/** A report. On a terminal, its verdict has a colour, and symbols replace the words for the status. */
function styled(report: string): string {
  if (!hasColours) return report
  const [verdict = '', ...rows] = report.split('\n\n')
  const symbols = new Map([
    ['ok', util.styleText('green', '✓')],
    ['note', util.styleText('yellow', '!')],
    ['broken', util.styleText('red', '✗')],
    ['not-checked', util.styleText('dim', '–')],
    ['', ' '],
  ])
  const table = rows.join('\n\n').replaceAll(/^.{12}(?= )/gm, column => symbols.get(column.trim()) ?? column)
  const colour = /^Nothing is/.test(verdict) ? 'green' : /^Nothing/.test(verdict) ? 'yellow' : 'red'
  return `${util.styleText(['bold', colour], verdict)}\n\n${table}`
}

function connection(
  command: string,
  baseUrl: string,
  values: { 'allow-insecure-http'?: boolean },
): ProbeOptions {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (!url || !/^https?:\/\/./i.test(baseUrl))
    throw new UsageError(`${command}: ${describe(baseUrl)} is not an https URL, such as ${host}`)
  // The client's message is written for code. A copied URL often has the path of a list.
  if (/[?#]|^\w+:\/\/[^/]*@/.test(baseUrl) || /\/transactions\/*$/.test(url.pathname)) {
    const plain = url.origin + url.pathname.replace(/(?:\/transactions)?\/*$/, '')
    throw new UsageError(
      `${command}: expected the base URL, without /transactions, query or user info. Try ${plain}`,
    )
  }
  const { API_KEY: apiKey } = process.env
  if (!apiKey || apiKey === 'undefined' || apiKey === 'null')
    throw new UsageError(
      'API_KEY is not set. Run this, then paste the key: read -rs API_KEY && export API_KEY',
    )
  const allowInsecureHttp = values['allow-insecure-http'] ?? false
  return { baseUrl, apiKey, allowInsecureHttp, signal: interrupted.signal, onEvent: showProgress }
}

let requests = 0

/** Shows retries, and on a terminal, a counter that the next line overwrites. */
function showProgress(event: ClientEvent): void {
  if (event.type === 'request' && process.stderr.isTTY) process.stderr.write(`\rRequest ${++requests} …`)
  if (event.type !== 'retry' && event.type !== 'wait') return
  clearProgress()
  const lines = wrap(event.error.message, `Next attempt in ${Math.ceil(event.delayMs / 1000)} s: `)
  process.stderr.write(`${lines.join('\n')}\n`)
}

function clearProgress(): void {
  if (requests > 0 && process.stderr.isTTY) process.stderr.write('\r\x1b[K')
}

const print = (text: string) => {
  clearProgress()
  process.stdout.write(`${text}\n`)
}

async function main([name = '', ...args]: string[]): Promise<number> {
  const { node } = process.versions
  if (Number.parseInt(node, 10) < 22)
    throw new Error(`virtual-accounts needs Node 22 or later; this is ${node}`)
  if (name === 'help' || [name, ...args].some(arg => arg === '--help' || arg === '-h')) print(usage)
  else if (['--version', '-v', 'version'].includes(name))
    print(createRequire(import.meta.url)('virtual-accounts/package.json').version)
  else if (Object.hasOwn(commands, name)) return (await commands[name]?.(args)) ?? 0
  else if (name === '') throw new UsageError(usage)
  else {
    const known = Object.keys(commands)
    throw new UsageError(
      `${name}: unknown command. ${didYouMean(name, known)}Commands are: ${known.join(', ')}, help`,
    )
  }
  return 0
}

/** The command's names for options of the client and the probe. */
const namesHere = new Map([
  ['apiKey', 'API_KEY'],
  ['origin', '--origin'],
  ['customerId', '--customer-id'],
  ['virtualAccountId', '--virtual-account-id'],
  ['allowInsecureHttp: true', '--allow-insecure-http'],
])

main(process.argv.slice(2)).then(
  status => {
    process.exitCode = status
  },
  (error: Error) => {
    clearProgress()
    const toHere = (name: string) => namesHere.get(name) ?? name
    process.stderr.write(
      `${error.message.replaceAll(/^\w+(?=:)|allowInsecureHttp: true|\bapiKey\b/g, toHere)}\n`,
    )
    const isWrongCommand = error instanceof UsageError || error instanceof TypeError
    process.exitCode = interrupted.signal.aborted ? 130 : isWrongCommand ? 2 : 1
  },
)
