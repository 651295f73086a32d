#!/usr/bin/env node
// npx virtual-accounts probe <baseUrl>. Imports only these two Node modules, so that it also runs in Bun and Deno.
import process from 'node:process'
import { parseArgs } from 'node:util'
// By the package's own name, so that the built command shares the code of the package.
import { type ProbeOptions, type ProbeStep, probe } from 'virtual-accounts/testing'

const usage = `Usage: npx virtual-accounts probe <baseUrl> [options]

Checks whether a service conforms to the API specification, and suggests client options.
The API key is read from the environment variable API_KEY, never from an argument.

  --origin <origin>           also check CORS for pages of this origin
  --customer-id <id>          customer of the test account
  --virtual-account-id <id>   the test account
  --write                     deactivate and reactivate the test account;
                              without --write nothing is written
  --json                      print the report as JSON
  --help                      print this

Exit status: 0 if nothing is broken, 1 if something is, 2 if the probe could not run.`

const options = {
  origin: { type: 'string' },
  'customer-id': { type: 'string' },
  'virtual-account-id': { type: 'string' },
  write: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

/** What is wrong with the arguments; the message is for the user. */
class UsageError extends Error {}

async function main(): Promise<number> {
  const { values, positionals } = parse()
  if (values.help) {
    print(usage)
    return 0
  }
  const [command, baseUrl, ...others] = positionals
  if (command !== 'probe' || baseUrl === undefined || others.length > 0) throw new UsageError(usage)
  const apiKey = process.env.API_KEY
  if (!apiKey) {
    throw new UsageError('API_KEY is not set. In bash or zsh run: read -rs API_KEY && export API_KEY')
  }
  const account = accountOf(values)
  const signal = account && interruptSignal()
  const options: ProbeOptions = { baseUrl, apiKey, account, origin: values.origin, signal }
  const report = await probe({ ...options, onProgress: createProgress(account !== undefined) })
  print(values.json ? JSON.stringify(report, null, 2) : String(report))
  return report.findings.some(({ status }) => status === 'broken') ? 1 : 0
}

function parse() {
  try {
    return parseArgs({ options, allowPositionals: true })
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${usage}`)
  }
}

function accountOf(values: ReturnType<typeof parse>['values']): ProbeOptions['account'] {
  const { 'customer-id': customerId, 'virtual-account-id': virtualAccountId, write } = values
  if ((customerId === undefined) !== (virtualAccountId === undefined)) {
    throw new UsageError('--customer-id and --virtual-account-id: expected both or neither')
  }
  if (write && customerId === undefined) {
    throw new UsageError('--write needs a test account: pass --customer-id and --virtual-account-id')
  }
  if (customerId === undefined || virtualAccountId === undefined) return undefined
  if (write) return { customerId, virtualAccountId }
  warn('Read-only: add --write to deactivate and reactivate the test account.')
  return undefined
}

/** Ctrl-C lets the probe reactivate the test account before the program ends; a second one ends it immediately. */
function interruptSignal(): AbortSignal {
  const controller = new AbortController()
  const reason = new UsageError('Interrupted. If the test account was deactivated, it is reactivated.')
  process.once('SIGINT', () => controller.abort(reason))
  return controller.signal
}

/** Says first how many requests there are at most, then, on a terminal, which one is next. */
function createProgress(isWriting: boolean): (step: ProbeStep) => void {
  let isFirst = true
  return ({ done, total, name }) => {
    if (isFirst) {
      const mode = isWriting ? 'deactivates and reactivates the test account' : 'read-only'
      warn(`At most ${total} requests, one at a time; ${mode}.`)
    }
    isFirst = false
    if (!process.stderr.isTTY) return
    const isEnd = done === total
    process.stderr.write(`\r\x1b[K${isEnd ? '' : `${done + 1}/${total} ${name}`.slice(0, 79)}`)
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

function warn(text: string): void {
  process.stderr.write(`${text}\n`)
}

main().then(
  status => {
    process.exitCode = status
  },
  (error: unknown) => {
    const isExpected = error instanceof UsageError || error instanceof TypeError
    warn(isExpected ? error.message : String((error as Error)?.stack ?? error))
    process.exitCode = 2
  },
)
