import { describe, expect, test } from 'vitest'
import { createClient, respondWith, respondWithPage, service, startService } from '../service.ts'
import { account, apiErrorOf, checkEach } from '../support.ts'

startService()

const list = () => createClient().transactions.list()
const page = (data: string, rest = '"page":1,"totalItems":1,"limit":20') => `{"data":${data},${rest}}`
const item = '{"id":"t1","amount":200,"currency":"AED","description":"Test"}'

// What their messages say, and advise, is in errors/messages.test.ts.
describe('a page that is not as specified', () => {
  test('is an InvalidResponseError that says where, and is not retried', () =>
    checkEach<[body: string, ...places: string[]]>(
      [
        ['', ''],
        ['Hello', ''],
        ['{"data": x}', ''],
        ['{"data":NaN}', ''],
        ['{"data":[],"page":01,"totalItems":0,"limit":20}', ''],
        ['{}{}', ''],
        ['{"data":[{"id":"t', ''],
        ['<html>', ''],
        ['[]', ''],
        ['null', ''],
        ['{}', 'data', 'page', 'totalItems', 'limit'],
        [page('{}'), 'data'],
        [page('[]', '"page":0,"totalItems":1,"limit":1'), 'page'],
        [page('[]', '"page":1.5,"totalItems":1,"limit":1'), 'page'],
        [page('[]', '"page":1,"totalItems":-1,"limit":1'), 'totalItems'],
        [page('[]', '"page":1,"totalItems":1.5,"limit":1'), 'totalItems'],
        [page('[]', '"page":1,"totalItems":"1","limit":1'), 'totalItems'],
        [page('[]', '"page":1,"totalItems":null,"limit":1'), 'totalItems'],
        [page('[]', '"page":1,"totalItems":9007199254740993,"limit":1'), 'totalItems'],
        [
          page(
            '[{"id":"t1","amount":1,"currency":"EUR","description":""}]',
            '"page":1,"totalItems":1,"limit":0',
          ),
          'limit',
        ],
        [page('[]', '"page":1,"totalItems":1,"limit":"1"'), 'limit'],
        [page('[]', '"page":1,"totalItems":1'), 'limit'],
        [page('[7]'), 'data.0'],
        [page('[{}]'), 'data.0.id', 'data.0.amount', 'data.0.currency', 'data.0.description'],
        [
          page(`[${item},{"id":5,"amount":"2","currency":null}]`),
          'data.1.id',
          'data.1.amount',
          'data.1.currency',
          'data.1.description',
        ],
      ],
      async ([body, ...places]) => {
        service.reset()
        respondWith(body)
        const error = await apiErrorOf('invalid-response', list())
        expect(error.issues.map(({ path }) => path.join('.'))).toEqual(places)
        expect(error).toMatchObject({ status: 200, attempts: 1, page: 1, outcomeUnknown: false })
        expect(service.requests).toHaveLength(1)
      },
    ))

  test('appears in `body` only, and in no message, stack or JSON', async () => {
    respondWithPage('{"id":"iban-DE1234"}')
    const error = await apiErrorOf('invalid-response', list())
    expect(error.body).toEqual({ data: [{ id: 'iban-DE1234' }], page: 1, totalItems: 1, limit: 20 })
    expect(Object.keys(error)).not.toContain('body')
    for (const shown of [error.message, error.stack, JSON.stringify(error)]) {
      expect(shown).not.toContain('iban-DE1234')
    }
  })
})

describe('the response to a write', () => {
  const write = () => createClient().virtualAccounts.deactivate(account)

  test('is invalid if it claims to be JSON and is not, or is an HTML page: the outcome is unknown', () =>
    checkEach<[body: string, type: string]>(
      [
        ['{"status":', 'application/json'],
        ['OK', 'application/json; charset=utf-8'],
        ['OK', 'Application/JSON'],
        ['OK', 'text/json ;charset=utf-8'],
        ['{"a":1}}', 'application/problem+json'],
        ['<!doctype html><p>Please sign in', 'text/plain'],
        ['<p>Please sign in', 'Text/HTML;charset=utf-8'],
        ['<?xml version="1.0"?><html>Please sign in', 'application/xhtml+xml'],
      ],
      async ([body, type]) => {
        service.reset()
        const headers = { 'content-type': type }
        respondWith(body, { headers })
        const error = await apiErrorOf('invalid-response', write())
        expect(error).toMatchObject({ attempts: 1, outcomeUnknown: true, body })
        expect(error.message).not.toContain('sign in')
        expect(service.requests).toHaveLength(1)
        respondWith(body, { headers })
        const ofRead = await apiErrorOf('invalid-response', createClient().request('GET', '/a'))
        expect(ofRead.outcomeUnknown).toBe(false)
      },
    ))
})
