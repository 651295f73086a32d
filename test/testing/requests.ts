import type { FakeService } from 'virtual-accounts/testing'
import { expect, vi } from 'vitest'
export const deactivate = '/customers/c1/virtual_accounts/v1/deactivate'
export const reactivate = '/customers/c1/virtual_accounts/v1/reactivate'

/** Gets a path below the base URL of the service, with the right API key. */
export function get(service: FakeService, path: string, init?: RequestInit): Promise<Response> {
  return service.fetch(service.baseUrl + path, { headers: { 'Api-Key': service.apiKey }, ...init })
}

export function post(service: FakeService, path: string, idempotencyKey: string, init?: RequestInit) {
  const headers = {
    'Api-Key': service.apiKey,
    'Idempotency-Key': idempotencyKey,
    'Content-Type': 'application/json',
  }
  return service.fetch(service.baseUrl + path, { method: 'POST', headers, ...init })
}

export function requestFor(service: FakeService, path: string, init?: RequestInit): Request {
  return new Request(service.baseUrl + path, { headers: { 'Api-Key': service.apiKey }, ...init })
}

/** How long a promise takes, in virtual milliseconds. */
export async function durationOf(promise: Promise<unknown>): Promise<number> {
  const start = Date.now()
  const duration = promise.then(() => Date.now() - start)
  await vi.advanceTimersByTimeAsync(100_000)
  return duration
}

export async function errorBody(response: Response) {
  expect(response.headers.get('Content-Type')).toBe('application/json')
  const body = await response.json()
  expect(body).toEqual({ error: { message: expect.any(String) } })
  return body.error.message
}
