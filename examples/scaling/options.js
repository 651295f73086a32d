// @ts-check
// What the command lines of both queue programs share. Needs no queue, so `--help` works before one is installed.

import { availableParallelism } from 'node:os'
import { Problem } from '../terminal.js'

/** For parseArgs. All values are strings. */
export const commonOptions = /** @type {const} */ ({
  workers: { type: 'string', default: String(Math.min(4, Math.max(2, availableParallelism()))) },
  concurrency: { type: 'string', default: '10' },
  rate: { type: 'string', default: '1000' },
  latency: { type: 'string', default: '20' },
  state: { type: 'string' },
  kill: { type: 'boolean', default: false },
  'no-faults': { type: 'boolean', default: false },
})

export const commonHelp = `
  --workers 2         worker processes; by default one per core, from 2 to 4
  --concurrency 10    jobs that each worker runs in parallel
  --rate 1000         jobs per second, over all workers
  --kill              kill a worker in the middle, with SIGKILL
  --state FOLDER      keep the queue there, to run again; by default a
                      temporary folder

  The fake service, used when BASE_URL is not set:
  --latency 20        milliseconds until each response
  --no-faults         inject no faults`

/**
 * @template {string} Name
 * @param {Record<string, unknown>} values
 * @param {readonly Name[]} names
 * @returns {Record<Name, number>}
 */
export function wholeNumbers(values, names) {
  const numbers = names.map(name => {
    const number = Number(values[name])
    const least = name === 'latency' || name === 'refuse' ? 0 : 1
    if (!Number.isSafeInteger(number) || number < least) {
      throw new Problem(`--${name}: expected a whole number from ${least}, got ${values[name]}.`)
    }
    return [name, number]
  })
  return Object.fromEntries(numbers)
}

/**
 * A name for a batch or an export, which becomes part of keys and of file names.
 *
 * @param {string} option
 * @param {string | undefined} given
 */
export function nameOf(option, given) {
  if (given === undefined) {
    const now = new Date().toISOString().replace(/\D/g, '').slice(0, 14)
    return `${now}-${crypto.randomUUID().slice(0, 8)}`
  }
  if (/^[\w.-]{1,100}$/.test(given)) return given
  throw new Problem(`--${option}: expected letters, digits, ".", "_" and "-", at most 100 characters.`)
}

/**
 * The whole command that continues a run. What has its default is left out, and so is `--kill`.
 *
 * @param {string} program
 * @param {Record<string, unknown>} values
 * @param {Record<string, { default?: unknown }>} options of parseArgs
 */
export function commandOf(program, values, options) {
  const settings = ['BASE_URL', 'API_KEY', 'ALLOW_WRITES', 'REDIS_URL'].filter(name => process.env[name])
  // A key does not belong on a screen, nor does the password that REDIS_URL may hold.
  const shown = settings.map(
    name => `${name}=${/KEY|REDIS/.test(name) ? '…' : quoted(process.env[name] ?? '')} `,
  )
  const given = Object.entries(values)
    .filter(([name, value]) => name !== 'kill' && value !== undefined && value !== options[name]?.default)
    .map(([name, value]) => (value === true ? `--${name}` : `--${name} ${quoted(String(value))}`))
  return [`${shown.join('')}npm run example examples/${program} --`, ...given].join(' \\\n    ')
}

/** @param {string} text */
function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/**
 * Imports a module that needs the queue, which is installed apart.
 *
 * @template T
 * @param {() => Promise<T>} load
 * @returns {Promise<T>}
 */
export async function withQueue(load) {
  try {
    return await load()
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error)
    if (code !== 'ERR_MODULE_NOT_FOUND' || !/'(bullmq|ioredis)'/.test(message)) throw error
    throw new Problem('BullMQ is not installed: (cd examples/scaling/bullmq && npm ci)')
  }
}
