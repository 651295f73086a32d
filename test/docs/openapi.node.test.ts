import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { Client } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'

const text = readFileSync(join(import.meta.dirname, '../../docs/openapi.yaml'), 'utf8')

type Json = Record<string, unknown>

interface Parameter {
  name: string
  in: 'query' | 'path' | 'header'
  required?: boolean
  schema: object
}

interface Operation {
  parameters: Parameter[]
  security: Record<string, unknown>[]
  requestBody: { content: Record<string, { schema: object }> } | undefined
  responses: Record<string, { content?: Record<string, { schema: object }> }>
}

/** Checks requests and responses against the document. */
class Contract {
  readonly document: Json = parse(text)
  readonly #ajv = new Ajv2020({ allErrors: true, strict: false })

  constructor() {
    this.#ajv.addSchema(this.document, 'openapi.yaml')
  }

  problemsOfRequest(request: Request, body: string): string[] {
    const found = this.#find(request)
    if (!found) return [`no operation for ${request.method} ${request.url}`]
    const { operation, ids, url } = found
    const values = {
      path: (name: string) => ids[name],
      query: (name: string) => url.searchParams.get(name) ?? undefined,
      header: (name: string) => request.headers.get(name) ?? undefined,
    }
    const problems = operation.parameters.flatMap(({ name, in: place, required, schema }) => {
      const value = values[place](name)
      if (value === undefined) return required ? [`${place} ${name} is missing`] : []
      return this.#problems(schema, toValue(value, schema), `${place} ${name}`)
    })
    const known = operation.parameters.filter(({ in: place }) => place === 'query').map(({ name }) => name)
    const unknown = [...url.searchParams.keys()].filter(name => !known.includes(name))
    const needsKey = operation.security.every(scheme => 'apiKey' in scheme)
    if (needsKey && !request.headers.has('Api-Key')) problems.push('header Api-Key is missing')
    if (operation.requestBody)
      problems.push(...this.#problemsOfBody(operation.requestBody, request.headers, body))
    else if (body !== '') problems.push('no body is specified')
    return [...problems, ...unknown.map(name => `query ${name} is not specified`)]
  }

  async problemsOfResponse(request: Request, response: Response): Promise<string[]> {
    const found = this.#find(request)
    if (!found) return [`no operation for ${request.method} ${request.url}`]
    const { responses } = found.operation
    const range = `${Math.floor(response.status / 100)}XX`
    const specified = responses[response.status] ?? responses[range] ?? responses.default
    if (!specified) return [`status ${response.status} is not specified`]
    const { content } = this.#resolve(specified)
    // Unspecified: any body will do, or none.
    return content ? this.#problemsOfBody({ content }, response.headers, await response.text()) : []
  }

  #problemsOfBody(
    { content }: { content: Record<string, { schema: object }> },
    headers: Headers,
    body: string,
  ): string[] {
    const type = headers.get('Content-Type')?.split(';')[0] ?? ''
    const media = content[type]
    if (!media) return [`Content-Type ${type} is not specified`]
    return body === '' ? [] : this.#problems(media.schema, JSON.parse(body), 'body')
  }

  #problems(schema: object, value: unknown, name: string): string[] {
    // References lead into the document.
    const validate = this.#ajv.compile(
      JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi.yaml#/')),
    )
    if (validate(value)) return []
    return (validate.errors ?? []).map(({ instancePath, message }) => `${name}${instancePath} ${message}`)
  }

  /** The operation for a request, with references of its own parts resolved. */
  #find(request: Request) {
    const url = new URL(request.url)
    for (const [template, item] of Object.entries(this.document.paths as Record<string, Json>)) {
      const pattern = template.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')
      const match = new RegExp(`^${pattern}$`).exec(url.pathname)
      const operation = item[request.method.toLowerCase()] as Operation | undefined
      if (!match || !operation) continue
      return {
        url,
        ids: match.groups ?? {},
        operation: {
          ...operation,
          parameters: operation.parameters.map(parameter => this.#resolve(parameter)),
          requestBody: operation.requestBody && this.#resolve(operation.requestBody),
        },
      }
    }
    return undefined
  }

  #resolve<T extends object>(part: T): T {
    const { $ref } = part as { $ref?: string }
    if ($ref === undefined) return part
    return $ref
      .slice(2)
      .split('/')
      .reduce((value, key) => value[key] as Json, this.document) as T
  }
}

/** A parameter as the type that its schema has. */
function toValue(value: string, schema: object): unknown {
  return (schema as { type?: string }).type === 'integer' && value !== '' ? Number(value) : value
}

const contract = new Contract()
const account = { customerId: 'customer 1', virtualAccountId: 'v/1' }
const service = new FakeService({ transactions: sampleTransactions(45) })
let problems: string[]
let checked: { request: string; status: number }[]

/** The fake service, with every request and response checked. */
const client = new Client({
  baseUrl: service.baseUrl,
  apiKey: service.apiKey,
  maxRetries: 0,
  fetch: async (input, init) => {
    const request = new Request(input, init)
    problems.push(...contract.problemsOfRequest(request.clone(), await request.clone().text()))
    const response = await service.fetch(request.clone())
    problems.push(...(await contract.problemsOfResponse(request, response.clone())))
    checked.push({ request: `${request.method} ${new URL(request.url).pathname}`, status: response.status })
    return response
  },
})

beforeEach(() => {
  service.reset()
  problems = []
  checked = []
})

describe('docs/openapi.yaml', () => {
  test('is valid OpenAPI 3.1', async () => {
    const validator = new Validator()
    expect(await validator.validate(contract.document)).toEqual({ valid: true })
    expect(validator.version).toBe('3.1')
  })

  test('is as open as the interface: further fields, no enumerations, and no statuses except success', () => {
    const keys: string[] = []
    JSON.stringify(contract.document, (key, value) => {
      keys.push(key)
      return value
    })
    const closing = ['enum', 'const', 'additionalProperties', 'unevaluatedProperties', 'pattern', 'format']
    expect(keys.filter(key => closing.includes(key))).toEqual([])
    expect(keys.filter(key => /^\d/.test(key) && Number.isNaN(Number(key)))).toEqual(['2XX'])
    expect(keys.filter(key => /^[1-5]\d\d$/.test(key))).toEqual([])
  })

  test('accepts further fields of a page and of its items, and bodies of any kind from writes', async () => {
    const list = new Request(`${service.baseUrl}/transactions`)
    const page = {
      data: [{ ...service.transactions[0], tags: [] }],
      page: 1,
      totalItems: 1,
      limit: 1,
      more: null,
    }
    expect(await contract.problemsOfResponse(list, Response.json(page, { status: 203 }))).toEqual([])
    const write = new Request(`${service.baseUrl}/customers/c1/virtual_accounts/v1/deactivate`, {
      method: 'POST',
    })
    expect(await contract.problemsOfResponse(write, Response.json([1], { status: 418 }))).toEqual([])
  })

  test('refuses pages that break the interface', async () => {
    const list = new Request(`${service.baseUrl}/transactions`)
    const page = { data: [{ id: 't1', amount: '1', currency: 'EUR', description: '' }], page: 0, limit: 20 }
    expect(await contract.problemsOfResponse(list, Response.json(page))).toEqual([
      `body must have required property 'totalItems'`,
      'body/page must be >= 1',
      'body/data/0/amount must be number',
    ])
  })

  test('refuses requests that break the interface', () => {
    const url = `${service.baseUrl}/customers/c1/virtual_accounts/v1/reactivate?dry=1`
    expect(contract.problemsOfRequest(new Request(url, { method: 'POST' }), 'x=1')).toEqual([
      'header Idempotency-Key is missing',
      'header Api-Key is missing',
      'Content-Type  is not specified',
      'query dry is not specified',
    ])
    const list = new Request(`${service.baseUrl}/transactions?page=0&limit=many`)
    expect(contract.problemsOfRequest(list, '')).toEqual([
      'query page must be >= 1',
      'query limit must be integer',
    ])
    expect(contract.problemsOfRequest(new Request(`${service.baseUrl}/refunds`), '')).toHaveLength(1)
  })
})

describe('the client and the fake service follow docs/openapi.yaml', () => {
  test('when a list is iterated, verified, awaited, and begun beyond its end', async () => {
    const ids: string[] = []
    for await (const { id } of client.transactions.list({ limit: 10 })) ids.push(id)
    for await (const { id } of client.transactions.list({ limit: 20 }, { verified: true })) ids.push(id)
    expect(ids).toHaveLength(90)
    await client.transactions.list({ page: 2, limit: 10 })
    await client.transactions.list({ page: 99 })
    expect(problems).toEqual([])
    expect(new Set(checked.map(({ status }) => status))).toEqual(new Set([200]))
    expect(checked.length).toBeGreaterThan(5)
  })

  test('when accounts are written, with a body or without', async () => {
    await client.virtualAccounts.deactivate(account)
    await client.virtualAccounts.reactivate(account, { body: { reason: 'audit' } })
    expect(problems).toEqual([])
    const path = '/customers/customer%201/virtual_accounts/v%2F1'
    expect(checked).toEqual([
      { request: `POST ${path}/deactivate`, status: 200 },
      { request: `POST ${path}/reactivate`, status: 200 },
    ])
  })

  test('when requests are refused', async () => {
    await client
      .withOptions({ apiKey: 'another' })
      .transactions.list()
      .catch(() => {})
    await client.virtualAccounts.deactivate(account, { idempotencyKey: 'k1' })
    const changed = { idempotencyKey: 'k1', body: { reason: 'audit' } }
    await client.virtualAccounts.deactivate(account, changed).catch(() => {})
    expect(problems).toEqual([])
    expect(checked.map(({ status }) => status)).toEqual([401, 200, 422])
  })
})
