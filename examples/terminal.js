// @ts-check
// What the programs of this folder share: their arguments, how they end, and what they print.

import { existsSync, readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { parseArgs, styleText } from 'node:util'
import { isApiError } from 'virtual-accounts'
import { elapsed, grouped, missingDecimals, pace } from './format.js'

export { counted, duration, elapsed, grouped, pace } from './format.js'

/** Something the user can fix: its message is all they need. */
export class Problem extends Error {}

/**
 * Runs a program with its arguments. Its result is the exit code, 0 by default. What the user can fix is one line on
 * stderr and exit code 1: only a bug of the program shows a stack.
 *
 * @param {string} file of the program: `--help` prints the comment that it begins with
 * @param {(given: { values: Record<string, any>, positionals: string[] }) => Promise<number | void>} main
 * @param {object} [accepted]
 * @param {import('node:util').ParseArgsOptionsConfig} [accepted.options]
 * @param {number} [accepted.positionals] how many at most
 * @param {string} [accepted.help] instead of the comment
 */
export function runMain(file, main, { options = {}, positionals = 0, help } = {}) {
  // `… | head` closes the pipe early, on purpose.
  process.stdout.on('error', error => process.exit('code' in error && error.code === 'EPIPE' ? 0 : 1))
  endOnSignals()
  const run = async () => {
    const given = parseArgs({
      options: { ...options, help: { type: 'boolean', short: 'h' } },
      allowPositionals: positionals > 0,
    })
    if (given.values.help) return console.log(help ?? commentOf(file))
    const surplus = given.positionals[positionals]
    if (surplus !== undefined) throw new Problem(`Unexpected argument '${surplus}'. See --help.`)
    return await main(given)
  }
  run().then(
    code => {
      process.exitCode = code ?? 0
    },
    error => {
      clearLine()
      const text = reason(error, Object.keys({ ...options, help }))
      console.error(typeof text === 'string' && process.stderr.isTTY ? wrapped(text) : text)
      if (whereStopped) console.error(whereStopped())
      process.exitCode = 1
    },
  )
}

/** Says how far a program was that could not finish. @type {(() => string) | undefined} */
let whereStopped

/** Ctrl-C and kill end the line that is shown, and then the program, unless it ends by itself. */
function endOnSignals() {
  for (const [signal, code] of /** @type {const} */ ([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ])) {
    process.on(signal, () => {
      if (process.listenerCount(signal) > 1) return
      const { stdout, stderr } = process
      if (stderr.isTTY) stderr.write('\n')
      else if (stdout.isTTY) stdout.write('\n')
      if (whereStopped) console.error(whereStopped())
      process.exit(code)
    })
  }
}

/**
 * The comment at the beginning of a program: its paragraphs wrapped, its indented lines as they are.
 *
 * @param {string} file
 */
function commentOf(file) {
  const [comment = ''] = readFileSync(file, 'utf8')
    .replace('// @ts-check\n', '')
    .split(/\n(?!\/\/)/, 1)
  const text = comment.replaceAll(/^\/\/ ?/gm, '')
  return text.replaceAll(/^\S.*(?:\n\S.*)*/gm, paragraph => wrapped(paragraph.replaceAll('\n', ' ')))
}

/**
 * The port that PORT names.
 *
 * @param {number} byDefault
 */
export function portOf(byDefault) {
  const { PORT = String(byDefault) } = process.env
  if (/^\d+$/.test(PORT) && Number(PORT) <= 65_535) return Number(PORT)
  throw new Problem(`PORT: expected a number from 0 to 65535, got ${PORT}.`)
}

/**
 * Makes a folder unless it exists. Not with `recursive`: on a path such as /proc/x, Node would never return.
 *
 * @param {string} folder
 */
export async function makeFolder(folder) {
  try {
    await mkdir(folder)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}

/**
 * @param {unknown} error
 * @param {readonly string[]} options of the program
 */
function reason(error, options) {
  if (error instanceof Problem) return error.message
  if (isApiError(error)) {
    const key = error.outcomeUnknown ? ` idempotencyKey: ${error.idempotencyKey}` : ''
    return `${error.message}${key}`
  }
  if (!(error instanceof Error) || !('code' in error)) return error
  if (error.code === 'EADDRINUSE' && 'port' in error) {
    const port = Number(error.port)
    return `Port ${port} is taken: choose another, such as PORT=${port + 1}, or PORT=0 for any.`
  }
  if (error.code === 'ENOENT' && 'path' in error) {
    const folder = dirname(resolve(String(error.path)))
    if (!existsSync(folder)) return `The folder ${folder} does not exist.`
  }
  // A file that cannot be written, say: 'syscall' names what the system refused.
  if ('syscall' in error) return error.message
  if (String(error.code).startsWith('ERR_PARSE_ARGS')) {
    const isUnknown = error.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION'
    const advice = isUnknown ? `Options are: ${options.map(name => `--${name}`).join(', ')}.` : 'See --help.'
    return wrapped(`${error.message.split('. ')[0]}. ${advice}`)
  }
  return error
}

/** Of the terminal, but at most 80. */
const columns = () => Math.min(80, process.stderr.columns ?? process.stdout.columns ?? 80)

/**
 * Breaks a text into lines of at most 80 columns, or as many as the terminal has. Code and a number with its unit stay
 * together.
 *
 * @param {string} text
 * @param {string} [indent] of the lines
 */
export function wrapped(text, indent = '') {
  /** @type {string[]} */
  const lines = []
  let line = ''
  const maxLength = columns()
  for (const [word] of text.matchAll(unbroken)) {
    if (line !== '' && indent.length + line.length + 1 + word.length > maxLength) {
      lines.push(indent + line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, indent + line].join('\n')
}

/** `code`, { code: { in: 'braces' } }, name: 'value', 90 s, and any other characters but spaces. */
const unbroken = /(?:`[^`]*`|\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|\w+: (?=')|\d+(?:[.,]\d+)* (?=\p{L})|\S)+/gu

/** @param {string} text */
export function heading(text) {
  return `\n${styleText('bold', text)}\n`
}

/**
 * @param {number} share from 0 to 1
 * @param {number} width in columns
 */
export function bar(share, width) {
  const filled = Math.round(Math.max(0, Math.min(share, 1)) * width)
  return '█'.repeat(filled) + '░'.repeat(width - filled)
}

/**
 * Amounts as they are printed below each other: decimal points in one column.
 *
 * @param {readonly (number | string)[]} amounts
 */
export function aligned(amounts) {
  const texts = amounts.map(grouped).map(text => text + ' '.repeat(missingDecimals(text).length))
  const width = Math.max(...texts.map(({ length }) => length))
  return texts.map(text => text.padStart(width))
}

/** What follows on stderr replaces a line that changes, such as that of `startProgress`. */
export function clearLine() {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
}

/**
 * A line on stderr that says how far a program is: redrawn ten times a second on a terminal, elsewhere a new line for
 * each tenth of the total. It is for programs that continue where they were stopped.
 *
 * @param {number} total
 * @param {number} before how many of them earlier runs have done
 */
export function startProgress(total, before) {
  const { stderr } = process
  const began = performance.now()
  let done = before
  let nextAt = stderr.isTTY ? began + 100 : before + total / 10
  whereStopped = () => `Stopped at ${grouped(done)} of ${grouped(total)}. Run it again: it continues.`

  /** @param {string} [end] */
  function show(end) {
    const seconds = (performance.now() - began) / 1000
    const facts = [
      `${bar(total > 0 ? done / total : 1, columns() < 80 ? 8 : 20)} ${grouped(done)} of ${grouped(total)}`,
      pace({ done: done - before, total: total - before, seconds, left: end ? 0 : total - done }),
      end && `in ${elapsed(seconds)}`,
    ]
    clearLine()
    const text = facts.filter(Boolean).join(', ')
    stderr.write(end || !stderr.isTTY ? text + (end ?? '') : text.slice(0, columns() - 1))
  }

  return {
    step() {
      done++
      if (stderr.isTTY && performance.now() >= nextAt) {
        show()
        nextAt = performance.now() + 100
      } else if (!stderr.isTTY && done >= nextAt && done < total) {
        show()
        stderr.write('\n')
        nextAt += total / 10
      }
    },
    end() {
      show('\n')
      whereStopped = undefined
    },
  }
}

/**
 * Lines on stderr, and below them one that changes: on a terminal in place, elsewhere as a new line every 5 s.
 *
 * @typedef {ReturnType<typeof openStatus>} Status
 */
export function openStatus() {
  const { stderr } = process
  const pauseMs = stderr.isTTY ? 200 : 5000
  let shownAt = performance.now() - pauseMs + 1000

  return {
    clear: clearLine,
    /** @param {string} text */
    note(text) {
      clearLine()
      stderr.write(`${wrapped(text)}\n`)
    },
    /** @param {string} text */
    show(text) {
      if (performance.now() - shownAt < pauseMs) return
      shownAt = performance.now()
      clearLine()
      stderr.write(stderr.isTTY ? text.slice(0, columns() - 1) : `${text}\n`)
    },
  }
}
