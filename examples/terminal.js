// @ts-check
// Shared by the programs of this folder: arguments, exit codes and a progress line.

import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { isApiError } from 'virtual-accounts'
import { duration, grouped, missingDecimals, pace } from './format.js'

export { counted, grouped } from './format.js'

/** A problem that the user can fix. Its message is all they need. */
export class Problem extends Error {}

/**
 * Runs a program with its arguments. For a problem that the user can fix, it prints one line on stderr and exits with 1.
 * Only a bug of the program shows a stack.
 *
 * @param {string} file The program's file. `--help` prints its first comment.
 * @param {(...args: string[]) => Promise<void>} main
 * @param {number} [maxArgs]
 */
export function runMain(file, main, maxArgs = 0) {
  // `… | head` closes the pipe early, on purpose.
  process.stdout.on('error', () => process.exit())
  process.on('SIGINT', () => stop(130))
  process.on('SIGTERM', () => stop(143))
  start(file, main, maxArgs).catch(error => {
    clearLine()
    console.error(reason(error))
    process.exitCode = 1
  })
}

/** @type {(...given: Required<Parameters<typeof runMain>>) => Promise<void>} */
async function start(file, main, maxArgs) {
  const options = /** @type {const} */ ({ help: { type: 'boolean', short: 'h' } })
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  if (values.help) return console.log(commentOf(file))
  const surplus = positionals[maxArgs]
  if (surplus !== undefined) throw new Problem(`Unexpected argument '${surplus}'. See --help.`)
  await main(...positionals)
}

/** @param {string} file */
function commentOf(file) {
  const [comment = ''] = readFileSync(file, 'utf8')
    .replace('// @ts-check\n', '')
    .split(/\n(?!\/\/)/, 1)
  return comment.replaceAll(/^\/\/ ?/gm, '')
}

/** @param {unknown} error */
function reason(error) {
  if (!(error instanceof Error)) return error
  if (isApiError(error) && error.outcomeUnknown)
    return `${error.message} The idempotencyKey is ${error.idempotencyKey}.`
  if (error instanceof Problem || isApiError(error)) return error.message
  // Set if the system refused an operation, such as writing a file.
  if ('syscall' in error) return error.message
  const isArgument = 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
  return isArgument ? `${error.message.split('. ')[0]}. See --help.` : error
}

/** @type {Progress | undefined} */
let shown

/** @param {number} code */
function stop(code) {
  clearLine()
  if (shown) console.error(`Stopped at ${shown.position}. ${shown.advice}`.trimEnd())
  process.exit(code)
}

function clearLine() {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
}

/**
 * A progress line on stderr. It also shows delays before retries, and for the service's rate limit. On a terminal, it is redrawn
 * in place. Elsewhere, there is a line for each tenth of the total, and for each delay.
 */
export class Progress {
  #began = performance.now()
  #first = 0
  #done = 0
  #total = 0
  #next = { at: 0, reason: '' }
  #isTerminal = process.stderr.isTTY
  #timer = this.#isTerminal ? setInterval(() => this.#draw(), 100).unref() : undefined

  /** @param {{ from?: number, advice?: string }} [options] from: how many are done; advice: what to do after Ctrl-C */
  constructor({ from = 0, advice = '' } = {}) {
    this.#first = this.#done = from
    this.advice = advice
    shown = this
  }

  get position() {
    return this.#total > 0 ? `${grouped(this.#done)} of ${grouped(this.#total)}` : 'the beginning'
  }

  /** @param {number} done @param {number} total */
  update(done, total) {
    const tenths = this.#tenths
    this.#done = done
    this.#total = Math.max(done, total)
    if (!this.#isTerminal && this.#tenths > tenths) this.#draw()
  }

  /** For a client's `onEvent`. @param {import('virtual-accounts').ClientEvent} event */
  onEvent = event => {
    if (event.type !== 'retry' && event.type !== 'wait') return
    const { error, delayMs } = event
    const now = performance.now()
    // A rate limit lets many calls wait at once.
    const isNews = now >= this.#next.at
    this.#next = { at: now + delayMs, reason: error.kind === 'http' ? `HTTP ${error.status}` : error.kind }
    if (isNews && !this.#isTerminal) this.#draw()
  }

  end() {
    clearInterval(this.#timer)
    clearLine()
    shown = undefined
  }

  get #tenths() {
    return Math.floor((10 * this.#done) / Math.max(1, this.#total))
  }

  #draw() {
    const now = performance.now()
    const [done, total] = [this.#done - this.#first, this.#total - this.#first]
    const waitMs = this.#next.at - now
    const waits = waitMs > 0 && `next in ${duration(waitMs / 1000)}: ${this.#next.reason}`
    const line = [
      this.#total > 0 && this.position,
      waits || pace({ done, total, seconds: (now - this.#began) / 1000 }),
    ]
    clearLine()
    const text = line.filter(Boolean).join(', ')
    process.stderr.write(this.#isTerminal ? text.slice(0, process.stderr.columns - 1) : `${text}\n`)
  }
}

/**
 * Breaks a text into lines of 80 columns. Text in backticks stays on one line.
 *
 * @param {string} text
 * @param {string} [indent]
 */
export function wrapped(text, indent = '') {
  const lines = ['']
  for (const [word] of text.matchAll(/(?:`[^`]*`|\S)+/g)) {
    const line = lines.at(-1) ? `${lines.at(-1)} ${word}` : indent + word
    if (line.length <= 80) lines[lines.length - 1] = line
    else lines.push(indent + word)
  }
  return lines.join('\n')
}

/**
 * Amounts for a column, with aligned decimal points.
 *
 * @param {readonly (number | string)[]} amounts
 */
export function aligned(amounts) {
  const texts = amounts.map(grouped).map(text => text + ' '.repeat(missingDecimals(text).length))
  const width = Math.max(...texts.map(({ length }) => length))
  return texts.map(text => text.padStart(width))
}
