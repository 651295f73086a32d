import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Context,
  type ContextManager,
  context,
  metrics,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import * as pinoModule from 'pino'
import { Client, type ClientEvent } from 'virtual-accounts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createService, Guide, type Modules, run } from './guide.ts'

const guide = new Guide('docs/observing.md')
const service = createService()
const account = { customerId: 'c1', virtualAccountId: 'v1' }
const deactivateRoute = '/customers/{customerId}/virtual_accounts/{virtualAccountId}/deactivate'

beforeEach(() => {
  service.reset()
  vi.spyOn(console, 'log').mockReturnValue()
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
  trace.disable()
  metrics.disable()
})

/** Runs a recipe, and returns a client that has its listener. */
async function recipe(text: string, listener: string, modules: Modules = {}): Promise<Client> {
  const last = 'return { attributesOf, errorType }'
  const telemetry = await run(service, guide.code('export function errorType'), { last })
  const given: Modules = {
    '@opentelemetry/api': () => import('@opentelemetry/api'),
    './telemetry': async () => telemetry,
  }
  const onEvent = await run(service, guide.code(text), {
    modules: { ...given, ...modules },
    last: `return ${listener}`,
  })
  const { baseUrl, apiKey } = service
  return new Client({ baseUrl, apiKey, onEvent: onEvent as (event: ClientEvent) => void })
}

describe('the recipe for logs', () => {
  let lines: Record<string, unknown>[]

  async function start(): Promise<Client> {
    lines = []
    vi.stubEnv('LOG_LEVEL', 'debug')
    const write = (line: string) => void lines.push(JSON.parse(line))
    const client = await recipe('stdSerializers', 'toLog', {
      pino: async () => ({ ...pinoModule, pino: (options: object) => pinoModule.pino(options, { write }) }),
    })
    lines = []
    return client
  }

  test('writes a line for each event, response headers included', async () => {
    const client = await start()
    service.fail({ with: () => Response.json({ busy: true }, { status: 503, headers: { 'X-Load': '9' } }) })
    await client.transactions.list()
    expect(lines.map(({ msg }) => msg)).toEqual(['request', 'response', 'retrying', 'request', 'response'])
    expect(lines[1]).toMatchObject({ status: 503, headers: { 'x-load': '9' }, route: '/transactions' })
    expect(lines[2]).toMatchObject({
      error: {
        name: 'HttpError',
        status: 503,
        body: { busy: true },
        stack: expect.stringContaining('HTTP 503'),
      },
    })
  })

  test('writes the cause of a lost connection', async () => {
    const client = await start()
    service.fail({ with: 'network-error' })
    await client.virtualAccounts.deactivate(account, { maxRetries: 0 }).catch(() => {})
    expect(lines.at(-1)).toMatchObject({
      msg: 'failed',
      error: {
        kind: 'connection',
        outcomeUnknown: true,
        cause: { message: expect.stringContaining('fetch') },
      },
    })
  })

  test('writes what an apiKey function throws', async () => {
    const client = await start()
    const keyless = client.withOptions({
      apiKey: () => Promise.reject(new Error('vault is sealed', { cause: new Error('HTTP 503') })),
    })
    await keyless.transactions.list().catch(() => {})
    expect(lines).toMatchObject([
      {
        msg: 'failed',
        error: {
          message: 'vault is sealed',
          stack: expect.stringContaining('vault'),
          cause: { message: 'HTTP 503' },
        },
      },
    ])
  })

  test('writes the reason of an abort, an error or not', async () => {
    const client = await start()
    for (const reason of [undefined, 'the user left']) {
      const controller = new AbortController()
      const call = client.transactions.list({}, { signal: controller.signal }).catch(() => {})
      controller.abort(reason)
      await call
    }
    const failures = lines.filter(({ msg }) => msg === 'failed')
    expect(failures).toMatchObject([
      { error: { message: 'This operation was aborted' } },
      { error: 'the user left' },
    ])
  })
})

describe('the recipe for metrics', () => {
  async function start() {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
    const provider = new MeterProvider({
      readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 60_000 })],
    })
    metrics.setGlobalMeterProvider(provider)
    const client = await recipe('createHistogram', 'toMetrics')
    await client.transactions.list()
    await client.virtualAccounts.deactivate(account)
    /** By the name of a metric, the attributes of each point with its value, or the count of its values. */
    const points = async (name: string) => {
      await provider.forceFlush()
      const scopes = exporter.getMetrics().at(-1)?.scopeMetrics ?? []
      const metric = scopes.flatMap(scope => scope.metrics).find(({ descriptor }) => descriptor.name === name)
      return metric?.dataPoints.map(({ attributes, value }) => [
        attributes,
        typeof value === 'number' ? value : value.count,
      ])
    }
    return { client, points }
  }

  const server = { 'server.address': 'api.example.com', 'server.port': 443 }
  const get = { 'http.request.method': 'GET', ...server, 'url.template': '/transactions' }
  const post = { 'http.request.method': 'POST', ...server, 'url.template': deactivateRoute }

  test('records each attempt, by route and status, with no ids', async () => {
    const { points } = await start()
    expect(await points('http.client.request.duration')).toEqual([
      [{ ...get, 'http.response.status_code': 200 }, 1],
      [{ ...post, 'http.response.status_code': 200 }, 1],
    ])
  })

  test('records attempts without a response, and counts retries and failures', async () => {
    const { client, points } = await start()
    service.fail({ with: () => new Response(null, { status: 503 }) })
    await client.transactions.list()
    service.fail({ with: 'network-error' })
    await client.transactions.list({}, { maxRetries: 0 }).catch(() => {})
    expect(await points('http.client.request.duration')).toEqual([
      [{ ...get, 'http.response.status_code': 200 }, 2],
      [{ ...post, 'http.response.status_code': 200 }, 1],
      [{ ...get, 'http.response.status_code': 503, 'error.type': '503' }, 1],
      [{ ...get, 'error.type': 'connection' }, 1],
    ])
    expect(await points('virtual_accounts.retries')).toEqual([[{ ...get, 'error.type': '503' }, 1]])
    expect(await points('virtual_accounts.failures')).toEqual([[{ ...get, 'error.type': 'connection' }, 1]])
  })

  test('counts changes of a list, and what callbacks threw', async () => {
    const { client, points } = await start()
    for await (const page of client.transactions.list({ limit: 100 }, { concurrency: 1 }).pages()) {
      if (page.page === 1) service.transactions.unshift({ ...service.transactions[0]!, id: 'new' })
    }
    const sealed = client.withOptions({ apiKey: () => Promise.reject(new RangeError('sealed')) })
    await sealed.transactions.list().catch(() => {})
    expect(await points('virtual_accounts.drifts')).toEqual([
      [{ ...get, change: 'total' }, 1],
      [{ ...get, change: 'duplicate' }, 1],
    ])
    expect(await points('virtual_accounts.failures')).toEqual([[{ ...get, 'error.type': 'RangeError' }, 1]])
  })
})

describe('the recipe for traces', () => {
  async function start() {
    const exporter = new InMemorySpanExporter()
    const spanProcessors = [new SimpleSpanProcessor({ exporter })]
    trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors }))
    const client = await recipe('tracer.startSpan', 'toSpans')
    exporter.reset()
    /** What was exported, as far as the conventions define it. */
    const spans = () =>
      exporter.getFinishedSpans().map(({ name, kind, attributes, status, events }) => ({
        name,
        kind,
        attributes,
        status: status.code,
        exceptions: events.map(({ attributes }) => attributes?.['exception.message']),
      }))
    return { client, exporter, spans }
  }

  const { CLIENT, INTERNAL } = SpanKind
  const { UNSET, ERROR } = SpanStatusCode
  const list = {
    'http.request.method': 'GET',
    'server.address': 'api.example.com',
    'server.port': 443,
    'url.full': 'https://api.example.com/transactions?page=1',
    'url.template': '/transactions',
  }
  const exported = { name: 'GET /transactions', kind: CLIENT, status: UNSET, exceptions: [] }

  test('exports a span with all attributes that the conventions require', async () => {
    const { client, spans } = await start()
    await client.transactions.list()
    expect(spans()).toEqual([{ ...exported, attributes: { ...list, 'http.response.status_code': 200 } }])
  })

  test('names spans by route, so that ids are in url.full only', async () => {
    const { client, spans } = await start()
    await client.virtualAccounts.deactivate(account)
    expect(spans()).toEqual([
      {
        ...exported,
        name: `POST ${deactivateRoute}`,
        attributes: {
          ...list,
          'http.request.method': 'POST',
          'url.full': 'https://api.example.com/customers/c1/virtual_accounts/v1/deactivate',
          'url.template': deactivateRoute,
          'http.response.status_code': 200,
        },
      },
    ])
  })

  test('counts resends on retries only, and says how each attempt failed', async () => {
    const { client, spans } = await start()
    service.fail({ with: 'network-error' })
    service.fail({ with: () => new Response(null, { status: 503 }) })
    await client.transactions.list()
    expect(spans()).toEqual([
      {
        ...exported,
        attributes: { ...list, 'error.type': 'connection' },
        status: ERROR,
        exceptions: [expect.stringMatching(/api\.example\.com:443, or .*lost before a response arrived/)],
      },
      {
        ...exported,
        attributes: {
          ...list,
          'http.request.resend_count': 1,
          'http.response.status_code': 503,
          'error.type': '503',
        },
        status: ERROR,
      },
      {
        ...exported,
        attributes: { ...list, 'http.request.resend_count': 2, 'http.response.status_code': 200 },
      },
    ])
  })

  test('gives a failure without a request a span of its own', async () => {
    const { client, spans } = await start()
    const sealed = client.withOptions({ apiKey: () => Promise.reject(new RangeError('vault is sealed')) })
    await sealed.transactions.list().catch(() => {})
    expect(spans()).toEqual([
      {
        ...exported,
        kind: INTERNAL,
        attributes: { ...list, 'error.type': 'RangeError' },
        status: ERROR,
        exceptions: ['vault is sealed'],
      },
    ])
  })

  test('shows a response that is not valid', async () => {
    const { client, spans } = await start()
    service.fail({ with: Response.json({ items: [] }) })
    await client.transactions.list().catch(() => {})
    expect(spans().map(({ kind, attributes }) => [kind, attributes['error.type']])).toEqual([
      [CLIENT, undefined],
      [INTERNAL, 'invalid-response'],
    ])
  })

  test('ends the span of an aborted call', async () => {
    const { client, spans } = await start()
    service.fail({ with: 'hang' })
    const controller = new AbortController()
    const call = client.transactions.list({}, { signal: controller.signal }).catch(() => {})
    await vi.waitFor(() => expect(service.requests).toHaveLength(1))
    controller.abort()
    await call
    expect(spans()).toMatchObject([
      { kind: CLIENT, attributes: { 'error.type': 'AbortError' }, status: ERROR },
    ])
  })

  test('makes each span a child of the one that is active, for prefetched pages and retries, too', async () => {
    const storage = new AsyncLocalStorage<Context>()
    const manager: ContextManager = {
      active: () => storage.getStore() ?? ROOT_CONTEXT,
      with: (active, run, self, ...parameters) =>
        storage.run(active, () => run.apply(self as never, parameters)),
      bind: (_context, target) => target,
      enable: () => manager,
      disable: () => manager,
    }
    context.setGlobalContextManager(manager)
    const { client, exporter } = await start()
    service.fail({ with: () => new Response(null, { status: 503 }) })
    const parentId = await trace.getTracer('test').startActiveSpan('export', async parent => {
      for await (const { id } of client.transactions.list({ limit: 50 })) expect(id).toBeTruthy()
      await client.virtualAccounts.deactivate(account)
      return parent.spanContext().spanId
    })
    context.disable()
    const parents = exporter.getFinishedSpans().map(({ parentSpanContext }) => parentSpanContext?.spanId)
    expect(parents).toEqual(Array(7).fill(parentId))
  })

  test('names the port that the URL names', async () => {
    const { client, spans } = await start()
    const elsewhere = client.withOptions({ baseUrl: 'http://127.0.0.1:1234' })
    await elsewhere.transactions.list({}, { maxRetries: 0 }).catch(() => {})
    expect(spans()).toMatchObject([
      { attributes: { 'server.address': '127.0.0.1', 'server.port': 1234 }, status: ERROR },
    ])
  })
})

test('every block is run', () => {
  guide.code('console.log(type, path)') // by test/readme.test.ts
  expect(guide.untaken).toEqual([])
})
