// @ts-check
// The fake service on a bad day: now and then it responds with 429 or 503, or drops the connection before or after it
// has applied the request. It reports what it received, which is what counts: not what a client believes.

import { startFakeServer } from '../fake-server.js'

/**
 * The faults it injects, and how often.
 *
 * @type {readonly (readonly [share: number, name: string, fault: import('virtual-accounts/testing').Fault['with']])[]}
 */
const faults = [
  // Rare, as each delays the whole queue for a second.
  [0.0005, '429', () => new Response(null, { status: 429, headers: { 'Retry-After': '1' } })],
  [0.01, '503', () => new Response(null, { status: 503 })],
  [0.005, 'dropped before it was applied', 'network-error'],
  [0.005, 'dropped after it was applied', 'truncate'],
]

const refusal = () => Response.json({ error: { message: 'Not this one.' } }, { status: 422 })

/**
 * @typedef {object} FaultServer
 * @property {import('virtual-accounts/testing').FakeService} service
 * @property {string} url
 * @property {Set<string>} refused paths, with their query, that get a 422
 * @property {() => Received} received
 * @property {() => Promise<void>} close
 *
 * @typedef {object} Received
 * @property {number} requests
 * @property {number} accounts that a write was received for
 * @property {string[]} deactivated paths of the accounts that are deactivated now
 * @property {number} keys
 * @property {number} keysOfSeveralAccounts must be 0
 * @property {number} accountsWithSeveralKeys must be 0
 * @property {Record<string, number>} faults by name
 */

/**
 * @param {object} [options]
 * @param {number} [options.latency] of each response, in milliseconds
 * @param {boolean} [options.faulty] whether it injects faults
 * @param {import('virtual-accounts').Transaction[]} [options.transactions]
 * @param {(request: Request) => void} [options.onRequest]
 * @returns {Promise<FaultServer>}
 */
export async function startFaultServer({ latency = 20, faulty = true, transactions = [], onRequest } = {}) {
  const { service, url, close } = await startFakeServer({ port: 0, latency, transactions })
  const random = randomNumbers(1)
  const refused = new Set()
  /** @type {Record<string, number>} */
  const happened = {}
  const { handle } = service

  service.handle = request => {
    onRequest?.(request)
    const { pathname, search } = new URL(request.url)
    if (refused.has(pathname + search)) service.fail({ path: pathname, with: refusal })
    const [, name, fault] = (faulty && drawn(random())) || []
    if (name && fault) {
      happened[name] = (happened[name] ?? 0) + 1
      service.fail({ with: fault })
    }
    return handle.call(service, request)
  }

  return { service, url, refused, close, received: () => ({ ...written(service), faults: happened }) }
}

/** @param {number} number from 0 to 1 */
function drawn(number) {
  let left = number
  return faults.find(([share]) => {
    left -= share
    return left < 0
  })
}

/** @param {import('virtual-accounts/testing').FakeService} service */
function written(service) {
  /** @type {Map<string, Set<string>>} */
  const accountsByKey = new Map()
  /** @type {Map<string, Set<string>>} */
  const keysByAccount = new Map()
  for (const { method, path, headers } of service.requests) {
    if (method !== 'POST') continue
    const account = path.replace(/\/deactivate$/, '')
    const key = headers.get('Idempotency-Key') ?? ''
    accountsByKey.set(key, (accountsByKey.get(key) ?? new Set()).add(account))
    keysByAccount.set(account, (keysByAccount.get(account) ?? new Set()).add(key))
  }
  const several = (/** @type {Map<string, Set<string>>} */ map) =>
    [...map.values()].filter(({ size }) => size > 1).length
  return {
    requests: service.requests.length,
    accounts: keysByAccount.size,
    deactivated: [...keysByAccount.keys()].filter(account => !service.isActive(accountOf(account))),
    keys: accountsByKey.size,
    keysOfSeveralAccounts: several(accountsByKey),
    accountsWithSeveralKeys: several(keysByAccount),
  }
}

/** @param {string} path */
function accountOf(path) {
  const [, , customerId = '', , virtualAccountId = ''] = path.split('/').map(decodeURIComponent)
  return { customerId, virtualAccountId }
}

/**
 * The same each time, so that a run can be repeated: mulberry32.
 *
 * @param {number} seed
 */
function randomNumbers(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
