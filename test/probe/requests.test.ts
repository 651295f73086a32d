import { type ProbeOptions, type ProbeStep, probe } from 'virtual-accounts/testing'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { account, checkEach, rejectionOf } from '../support.ts'
import {
  changePages,
  type Deviation,
  deviate,
  from,
  isDeactivation,
  json,
  origin,
  probeHanging,
  probeService,
  respond,
  service,
} from './service.ts'

beforeEach(() => service.reset())

const posts = () => service.requests.flatMap(({ method, path }) => (method === 'POST' ? [path] : []))
const tooMany = (seconds: number) =>
  new Response(null, { status: 429, headers: { 'Retry-After': String(seconds) } })

test('the largest number of requests is announced before the first, and each request by its name', async () => {
  const steps: ProbeStep[] = []
  const sent: number[] = []
  const { report } = await probeService([], {
    onProgress: step => {
      steps.push(step)
      sent.push(service.requests.length)
    },
  })
  expect(steps.map(({ name }) => name)).toEqual([
    'GET /transactions?page=1',
    'GET /transactions?page=2',
    'GET /transactions?page=13',
    'GET /transactions?page=14',
    'GET /transactions?page=0',
    'GET /transactions?page=1&limit=2',
    'GET /transactions?page=2&limit=2',
    'GET /transactions?page=1&limit=1000',
    'GET /transactions?page=3&limit=100',
    'GET /transactions?page=1',
    'POST deactivate (new key)',
    'POST deactivate (same key)',
    'POST deactivate (another key)',
    'POST reactivate',
    'GET /transactions?page=1',
  ])
  expect(steps[0]).toEqual({ done: 0, total: 24, name: 'GET /transactions?page=1' })
  expect(sent).toEqual(steps.map(({ done }) => done))
  expect(steps).toHaveLength(report.requests)
})

test('there are never more than announced, not even where everything is refused, throttled or missing', async () => {
  const totals: number[] = []
  const worst = respond((request, query) => {
    const isThrottled = Number(query.get('limit')) === 2 || Number(query.get('page')) > 13
    if (isThrottled) return tooMany(1)
    if (request.url.endsWith('/reactivate')) return json({}, 500)
    return Number(query.get('limit')) > 20 ? json({}, 400) : undefined
  })
  const { report } = await probeService(
    [changePages(page => (page.page === 13 ? { ...page, data: [] } : page)), worst],
    { origin, onProgress: ({ total }) => totals.push(total) },
  )
  expect(report.requests).toBeLessThanOrEqual(totals[0] as number)
  expect(report.requests).toBeGreaterThan(16)
})

test('there are never more than announced, not even where every reactivation is throttled', async () => {
  const totals: number[] = []
  const throttle = respond(({ url }) => (url.endsWith('/reactivate') ? tooMany(1) : undefined))
  const limited = respond((_, query) => (Number(query.get('limit')) > 20 ? json({}, 400) : undefined))
  const { report, broken, find } = await probeService([throttle, limited], {
    onProgress: ({ total }) => totals.push(total),
  })
  expect(report.requests).toBeLessThanOrEqual(totals[0] as number)
  expect(broken).toEqual(['reactivate'])
  expect(find('rate-limit').observed).toContain('HTTP 429')
})

test('there is a pause of at least a quarter of a second between any two', async () => {
  const { report, pauses } = await probeService()
  expect(pauses.filter(ms => ms >= 250)).toHaveLength(report.requests - 1)
})

test('one request has a wrong key, and no other', async () => {
  await probeService()
  const wrong = service.requests.filter(({ headers }) => headers.get('Api-Key') !== service.apiKey)
  expect(wrong).toMatchObject([{ method: 'GET', path: '/transactions', query: { page: '1' } }])
})

test('what is throttled is sent again after Retry-After, three times in all', async () => {
  const { report, pauses, broken } = await probeService([respond(() => tooMany(7))])
  expect(pauses).toEqual([7_000, 250, 7_000, 250, 7_000, 250])
  expect(report.requests).toBe(4)
  expect(broken).toEqual(['envelope'])
})

describe('the time limit', () => {
  /** Every request takes so long on the clock that the probe reads. */
  const slow =
    (ms: number): Deviation =>
    fetch => {
      let now = 0
      vi.spyOn(performance, 'now').mockImplementation(() => now)
      return async (input, init) => {
        now += ms
        return fetch(input, init)
      }
    }

  test('ends the checks after four minutes, with a report of what was found', async () => {
    const { report, find, notChecked } = await probeService([slow(50_000)])
    expect(report.requests).toBe(5)
    expect(find('page-echo').status).toBe('ok')
    expect(notChecked).toEqual(expect.arrayContaining(['order', 'max-limit', 'deactivate', 'same-key']))
    expect(find('order').observed).toContain('no request, as the 4 minutes of the probe are over')
  })

  test('does not keep the probe from reactivating the account', async () => {
    const { find } = await probeService([from(1, slow(300_000), isDeactivation)])
    expect(find('deactivate').status).toBe('ok')
    expect(find('same-key').status).toBe('not-checked')
    expect(service.isActive(account)).toBe(true)
  })

  test('of one minute ends a request that hangs', async () => {
    const { broken } = await probeHanging(() => true, {})
    expect(broken).toEqual(['reachable'])
  })
})

describe('an abort', () => {
  const reason = new Error('enough')

  test('rejects with the reason of the signal, and sends no more', async () => {
    const controller = new AbortController()
    const onProgress = ({ done }: ProbeStep) => done === 3 && controller.abort(reason)
    await expect(probeService([], { signal: controller.signal, onProgress })).rejects.toBe(reason)
    expect(service.requests).toHaveLength(3)
  })

  test('while it writes reactivates the account before it rejects', () =>
    checkEach(['POST deactivate (same key)', 'POST reactivate'], async step => {
      const controller = new AbortController()
      const onProgress = ({ name }: ProbeStep) => name === step && controller.abort(reason)
      await expect(probeService([], { signal: controller.signal, onProgress })).rejects.toBe(reason)
      expect(service.isActive(account)).toBe(true)
    }))

  test('while a deactivation is on its way waits for its response, and reactivates the account after it', async () => {
    const controller = new AbortController()
    const abort: Deviation = fetch => async (input, init) => {
      const request = new Request(input, init)
      if (isDeactivation(request)) {
        controller.abort(reason)
        await new Promise(resolve => setTimeout(resolve))
        if (request.signal.aborted) throw request.signal.reason
      }
      return fetch(request)
    }
    await expect(probeService([abort], { signal: controller.signal })).rejects.toBe(reason)
    expect(posts().map(path => path.split('/').at(-1))).toEqual(['deactivate', 'reactivate'])
    expect(service.isActive(account)).toBe(true)
  })

  test('says so if a deactivation that got no response may still be applied', async () => {
    const controller = new AbortController()
    const lose = respond(request => {
      if (!isDeactivation(request)) return undefined
      controller.abort(reason)
      return Response.error()
    })
    await expect(probeService([lose], { signal: controller.signal })).rejects.toMatchObject({
      message: expect.stringMatching(
        /^The test account may be or become inactive: .* Deactivate: no readable response from virtual-accounts\.test:443/,
      ),
      cause: reason,
    })
    expect(posts().map(path => path.split('/').at(-1))).toEqual(['reactivate'])
  })

  test('says so if the account may be left inactive', async () => {
    const controller = new AbortController()
    const onProgress = ({ name }: ProbeStep) => name.includes('same key') && controller.abort(reason)
    const fail = respond(({ url }) => (url.endsWith('/reactivate') ? json({}, 500) : undefined))
    await expect(probeService([fail], { signal: controller.signal, onProgress })).rejects.toMatchObject({
      message: expect.stringMatching(
        /^The test account may be or become inactive: .* Reactivate: HTTP 500\.$/,
      ),
      cause: reason,
    })
  })

  test('before the first deactivation is sent writes nothing', async () => {
    const controller = new AbortController()
    const onProgress = ({ name }: ProbeStep) => name.includes('new key') && controller.abort(reason)
    await expect(probeService([], { signal: controller.signal, onProgress })).rejects.toBe(reason)
    expect(posts()).toEqual([])
  })
})

test('errors of apiKey and of onProgress propagate unchanged, and leave the account active', async () => {
  const error = new Error('mine')
  await expect(probeService([], { apiKey: () => Promise.reject(error) })).rejects.toBe(error)
  const onProgress = async ({ name }: ProbeStep) => {
    if (name.includes('another key')) throw error
  }
  await expect(probeService([], { onProgress })).rejects.toBe(error)
  expect(service.isActive(account)).toBe(true)
})

test('misuse is a TypeError that names the option, and nothing is sent', () =>
  checkEach<[name: string, options: unknown]>(
    [
      ['options', null],
      ['apiKey', {}],
      ['apiKey', { apiKey: '' }],
      ['acount', { acount: account }],
      ['baseUrl', { baseUrl: undefined }],
      ['account', { account: 'v1' }],
      ['virtualAccountId', { account: { customerId: 'c1' } }],
      ['customerId', { account: { ...account, customerId: '..' } }],
      ['origin', { origin: `${origin}/app` }],
      ['origin', { origin: 'app' }],
      ['origin', { origin: '' }],
      ['origin', { origin: 7 }],
      ['signal', { signal: true }],
      ['onProgress', { onProgress: 1 }],
    ],
    async ([name, options]) => {
      const { baseUrl, apiKey } = service
      const valid = name === 'apiKey' ? { baseUrl } : { baseUrl, apiKey }
      const given = options && { ...valid, fetch: deviate(), ...options }
      const error = await rejectionOf(probe(given as ProbeOptions))
      expect(error).toBeInstanceOf(TypeError)
      expect(String(error)).toMatch(
        new RegExp(`^TypeError: (deactivate: (expected )?)?(${name}: |{ customerId)`),
      )
      expect(service.requests).toEqual([])
    },
  ))
