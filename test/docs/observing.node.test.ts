import { metrics, trace } from '@opentelemetry/api'
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import * as pinoModule from 'pino'
import { Client, type ClientEvent } from 'virtual-accounts'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { startFakeServer } from '../fake-server.js'
import { account, refuse, run, service } from './guide.ts'
import { snippet } from './snippets.ts'

// observing.md.

afterEach(() => {
  trace.disable()
  metrics.disable()
})

const clientWith = (onEvent: (event: ClientEvent) => void) =>
  new Client({ baseUrl: service.baseUrl, apiKey: service.apiKey, onEvent })

describe('logs', () => {
  async function start() {
    vi.stubEnv('LOG_LEVEL', 'debug')
    const lines: Record<string, unknown>[] = []
    const write = (line: string) => void lines.push(JSON.parse(line))
    const pino = (options: object) => pinoModule.pino(options, { write })
    const { toLog } = await run(snippet('observing.md', 'Logs'), { pino: () => ({ ...pinoModule, pino }) })
    return { client: clientWith(toLog), lines }
  }

  test('a line for each event, response headers included', async () => {
    const { client, lines } = await start()
    service.fail({ with: () => Response.json({ busy: true }, { status: 503, headers: { 'X-Load': '9' } }) })
    await client.transactions.list()
    expect(lines.map(({ msg }) => msg)).toEqual(['request', 'response', 'retry', 'request', 'response'])
    expect(lines[1]).toMatchObject({ status: 503, headers: { 'x-load': '9' }, route: '/transactions' })
    const stack = expect.stringContaining('HTTP 503')
    expect(lines[2]).toMatchObject({ error: { name: 'HttpError', status: 503, body: { busy: true }, stack } })
  })

  test('the cause of a lost connection', async () => {
    const { client, lines } = await start()
    service.fail({ with: 'network-error' })
    await client.virtualAccounts.deactivate(account, { maxRetries: 0 }).catch(() => {})
    const cause = { message: expect.stringContaining('fetch') }
    expect(lines.at(-1)).toMatchObject({ error: { kind: 'connection', outcomeUnknown: true, cause } })
  })

  test('what an apiKey function throws', async () => {
    const { client, lines } = await start()
    const cause = new Error('HTTP 503')
    const apiKey = () => Promise.reject(new Error('vault is sealed', { cause }))
    await client
      .withOptions({ apiKey })
      .transactions.list()
      .catch(() => {})
    const stack = expect.stringContaining('vault')
    expect(lines).toMatchObject([
      { msg: 'failure', error: { message: 'vault is sealed', stack, cause: { message: 'HTTP 503' } } },
    ])
  })

  test('the reason of an abort, an error or not', async () => {
    const { client, lines } = await start()
    for (const reason of [undefined, 'the user left']) {
      const controller = new AbortController()
      const call = client.transactions.list({}, { signal: controller.signal }).catch(() => {})
      controller.abort(reason)
      await call
    }
    const failures = lines.filter(({ msg }) => msg === 'failure')
    expect(failures).toMatchObject([
      { error: { message: 'This operation was aborted' } },
      { error: 'the user left' },
    ])
  })
})

test('metrics: durations by route and status, with no ids, and a count of retries, failures and changes', async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const provider = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 60_000 })],
  })
  metrics.setGlobalMeterProvider(provider)
  const { toMetrics } = await run(snippet('observing.md', 'Metrics'))
  const client = clientWith(toMetrics)

  await client.virtualAccounts.deactivate(account)
  refuse(503)
  for await (const page of client.transactions.list({ limit: 100 }, { concurrency: 1 }).pages()) {
    if (page.page === 1) service.transactions.unshift({ ...service.transactions[0]!, id: 'new' })
  }
  service.fail({ with: 'network-error' })
  await client.transactions.list({}, { maxRetries: 0 }).catch(() => {})
  const apiKey = () => Promise.reject(new RangeError('sealed'))
  await client
    .withOptions({ apiKey })
    .transactions.list()
    .catch(() => {})

  await provider.forceFlush()
  const all = exporter.getMetrics().at(-1)?.scopeMetrics[0]?.metrics ?? []
  const pointsOf = (name: string) =>
    all
      .find(({ descriptor }) => descriptor.name === name)
      ?.dataPoints.map(({ attributes, value }) => [
        attributes,
        typeof value === 'number' ? value : value.count,
      ])
  const route = '/customers/{customerId}/virtual_accounts/{virtualAccountId}/deactivate'
  const get = { method: 'GET', route: '/transactions' }
  expect(pointsOf('virtual_accounts.response.duration')).toEqual([
    [{ method: 'POST', route, status: 200 }, 1],
    [{ ...get, status: 503 }, 1],
    [{ ...get, status: 200 }, 3],
  ])
  expect(pointsOf('virtual_accounts.events')).toEqual([
    [{ ...get, type: 'retry', reason: 503 }, 1],
    [{ ...get, type: 'drift', reason: 'total' }, 1],
    [{ ...get, type: 'drift', reason: 'duplicate' }, 1],
    [{ ...get, type: 'failure', reason: 'connection' }, 1],
    [{ ...get, type: 'failure', reason: 'RangeError' }, 1],
  ])
})

test('traces: the instrumentation of undici gives each attempt a span', async () => {
  // The runtime's own fetch.
  vi.unstubAllGlobals()
  const exporter = new InMemorySpanExporter()
  const spanProcessors = [new SimpleSpanProcessor({ exporter })]
  const tracerProvider = new TracerProvider({ spanProcessors })
  const instrumentation = new UndiciInstrumentation()
  instrumentation.setTracerProvider(tracerProvider as never)
  instrumentation.enable()
  const fake = await startFakeServer()
  fake.service.fail({ with: () => new Response(null, { status: 503 }) })
  await new Client({ baseUrl: fake.url, apiKey: fake.service.apiKey }).transactions.list()
  instrumentation.disable()
  await fake.close()
  const statuses = exporter
    .getFinishedSpans()
    .map(({ attributes }) => attributes['http.response.status_code'])
  expect(statuses).toEqual([503, 200])
})
