#!/usr/bin/env node
import { createRequire } from 'node:module'
import process from 'node:process'
// Not by its name, or old versions of Node would fail before they are told to be old.
import util, { parseArgs } from 'node:util'
// By the package's own name, so that the built command shares the code of the package.
import type { ClientEvent } from 'virtual-accounts'
import { inferSchema, type ProbeOptions, probe } from 'virtual-accounts/probe'
import { serveFake } from './fake-server.js'

const usage = `Usage: virtual-accounts <command> [options]

probe <baseUrl>           Checks whether a service works as the client expects.
  --origin <origin>         Also checks CORS for pages of this origin.
  --customer-id <id> --virtual-account-id <id> --write
                            Also deactivates and reactivates this test account.
  --json                    Prints the report as JSON.
schema <baseUrl> <path>   Prints a zod schema of the items of a list.
fake                      Serves a fake service on this machine.
  --port <port>             Default: 4010. 0 takes any free port.
  --transactions <count>    Default: 250.
  --faults <list>           Every fourth request fails, with these in turn:
                            statuses, network-error, truncate or hang.
  --rate <count>            Requests a second. Extra requests get a 429.
help                      Prints this; --version prints the version.

probe and schema read the API key from the environment variable API_KEY. With
--allow-insecure-http, they accept http, and anyone on the network can then
read the key.

Exit status: 0, 1 if something is broken or failed, or 2 for a wrong command.`

const call = 'virtual-accounts'
const host = 'https://api.example.com'

class UsageError extends Error {}

const overHttp = { 'allow-insecure-http': { type: 'boolean' } } as const
const commands: Readonly<Record<string, (args: string[]) => Promise<number>>> = {
  async probe(args) {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        ...overHttp,
        origin: { type: 'string' },
        'customer-id': { type: 'string' },
        'virtual-account-id': { type: 'string' },
        write: { type: 'boolean' },
        json: { type: 'boolean' },
      },
    })
    const [baseUrl = ''] = expectArguments(
      positionals,
      1,
      `probe needs the service's URL: ${call} probe ${host}`,
    )
    const { origin, write = false, json = false } = values
    const { 'customer-id': customerId, 'virtual-account-id': virtualAccountId } = values
    const isNamed = customerId !== undefined && virtualAccountId !== undefined
    if (write !== isNamed || (customerId === undefined) !== (virtualAccountId === undefined))
      throw new UsageError('Pass --customer-id, --virtual-account-id and --write together, or none of them.')
    const account = isNamed ? { customerId, virtualAccountId } : undefined
    const report = await probe({ ...connection('probe', baseUrl, values), account, origin })
    print(json ? JSON.stringify(report, null, 2) : styled(String(report)))
    return report.findings.some(({ status }) => status === 'broken') ? 1 : 0
  },

  async schema(args) {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: overHttp })
    const needed = `schema needs the service's URL and a path: ${call} schema ${host} /transactions`
    const [baseUrl = '', path = ''] = expectArguments(positionals, 2, needed)
    if (!path.startsWith('/')) throw new UsageError('schema: path must start with "/": try /transactions')
    print(await inferSchema({ ...connection('schema', baseUrl, values), path }))
    return 0
  },

  async fake(args) {
    const { values } = parseArgs({
      args,
      options: {
        port: { type: 'string' },
        transactions: { type: 'string' },
        faults: { type: 'string' },
        rate: { type: 'string' },
      },
    })
    const { port = '4010', transactions = '250', faults = '', rate } = values
    const served = await serveFake({
      port: toNumber('port', port, 0, 65_535),
      transactions: toNumber('transactions', transactions, 0, 1_000_000),
      faults: faults.split(',').filter(Boolean),
      rate: rate === undefined ? undefined : toNumber('rate', rate, 1, 1_000_000),
      log: line => print(coloured(line)),
    })
    print(`${served.introduction}\n`)
    interrupted.signal.addEventListener('abort', served.close)
    return 0
  },
}

/** Aborted by Ctrl-C, and when a terminal is closed: a probe reactivates its test account before it ends. */
const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => interrupted.abort(new Error('Interrupted.')))
// A closed terminal must not end the program earlier, and `… | head` closes the pipe on purpose.
process.stderr.on('error', () => {})
process.stdout.on('error', () => interrupted.abort())

function expectArguments(given: string[], count: number, needed: string): string[] {
  if (given.length < count) throw new UsageError(needed)
  if (given.length > count) throw new UsageError(`Unexpected argument: ${given[count]}`)
  return given
}

function toNumber(option: string, text: string, min: number, max: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  const expected = min === 1 ? 'a number above 0' : `a number from ${min} to ${max}`
  throw new UsageError(`--${option}: expected ${expected}, got ${text}`)
}

/** A line of the fake's log: on a terminal, its status in the colour of success or failure. */
function coloured(line: string): string {
  if (!process.stdout.isTTY || process.env.NO_COLOR) return line
  return line
    .replace(/→ ([1-3]\d\d)$/, (_, status) => `→ ${util.styleText('green', status)}`)
    .replace(
      /→ ([45]\d\d.*|no response.*|\d\d\d, cut off.*)$/,
      (_, status) => `→ ${util.styleText('red', status)}`,
    )
    .replace('(fault)', fault => util.styleText('yellow', fault))
}

/** On a terminal: a report with its verdict in bold, and with symbols instead of the column of words. */
function styled(report: string): string {
  if (!process.stdout.isTTY || process.env.NO_COLOR) return report
  const [verdict = '', ...rows] = report.split('\n\n')
  const symbols = new Map([
    ['ok', util.styleText('green', '✓')],
    ['note', util.styleText('yellow', '!')],
    ['broken', util.styleText('red', '✗')],
    ['not-checked', util.styleText('dim', '–')],
    ['', ' '],
  ])
  const table = rows.join('\n\n').replaceAll(/^(.{13})(?=.)/gm, column => {
    const symbol = symbols.get(column.trim())
    return symbol ? `${symbol} ` : column
  })
  return `${util.styleText('bold', verdict)}\n\n${table}`
}

function connection(
  command: string,
  baseUrl: string,
  values: { 'allow-insecure-http'?: boolean },
): ProbeOptions {
  if (!/^https?:\/\/./i.test(baseUrl) || !URL.canParse(baseUrl))
    throw new UsageError(`${command}: "${baseUrl}" is not an https URL, such as ${host}`)
  const { API_KEY: apiKey } = process.env
  if (!apiKey)
    throw new UsageError('API_KEY is not set. Run: read -rs API_KEY && export API_KEY, then paste the key.')
  const allowInsecureHttp = values['allow-insecure-http'] ?? false
  const { protocol, hostname } = new URL(baseUrl)
  const isLocal = /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)
  if (protocol === 'http:' && !isLocal && !allowInsecureHttp)
    throw new UsageError(
      `${command}: over http, anyone on the network can read the API key. Pass https, or --allow-insecure-http`,
    )
  return { baseUrl, apiKey, allowInsecureHttp, signal: interrupted.signal, onEvent: showRetry }
}

function showRetry(event: ClientEvent): void {
  if (event.type !== 'retry' && event.type !== 'wait') return
  process.stderr.write(`Next attempt in ${Math.ceil(event.delayMs / 1000)} s: ${event.error.message}\n`)
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

async function main([name = '', ...args]: string[]): Promise<number> {
  const { node } = process.versions
  if (Number.parseInt(node, 10) < 22)
    throw new Error(`virtual-accounts needs Node 22 or later; this is ${node}`)
  if (['help', '--help', '-h'].includes(name) || args.includes('--help')) print(usage)
  else if (name === '--version')
    print(createRequire(import.meta.url)('virtual-accounts/package.json').version)
  else if (Object.hasOwn(commands, name)) return (await commands[name]?.(args)) ?? 0
  else
    throw new UsageError(
      name ? `${name}: unknown command. Commands are: ${Object.keys(commands).join(', ')}, help` : usage,
    )
  return 0
}

main(process.argv.slice(2)).then(
  status => {
    process.exitCode = status
  },
  (error: Error & { code?: string }) => {
    // Node's own errors about arguments have such codes, and a second sentence that helps nobody.
    const isArgument = error.code?.startsWith('ERR_')
    process.stderr.write(`${isArgument ? `${error.message.split('. ')[0]}. See --help.` : error.message}\n`)
    const isWrongCommand = isArgument || error instanceof UsageError || error instanceof TypeError
    process.exitCode = interrupted.signal.aborted ? 130 : isWrongCommand ? 2 : 1
  },
)
