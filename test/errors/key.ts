import { inspect } from 'node:util'
import {
  type AnyApiError,
  type Client,
  type ClientEvent,
  type ClientOptions,
  isApiError,
} from 'virtual-accounts'
import { expect } from 'vitest'
import { clientOf, type FaultServer } from '../http/fault-server.ts'
import { account, apiErrorOf } from '../support.ts'

/** Each special character is escaped somewhere: in a URL, in a pattern or in JSON. */
export const key = 'sk_live_9+/=Zx7(.*)$&é?q'
export const plainKey = 'sk_live_51HxYzAbCdEfGh'

/** Everything that a log could print of a value. */
export function everythingOf(value: unknown): string {
  const parts = [
    inspect(value, { showHidden: true, depth: Infinity, getters: true, maxStringLength: Infinity }),
  ]
  const seen = new Set<unknown>()
  const look = (at: unknown) => {
    if (typeof at === 'string') parts.push(at)
    if (typeof at === 'number') parts.push(String(at))
    if (typeof at !== 'object' || at === null || seen.has(at)) return
    seen.add(at)
    if (at instanceof Headers) look([...at])
    for (const name of Reflect.ownKeys(at)) {
      parts.push(String(name))
      look(Reflect.get(at, name))
    }
    // Getters, too.
    if (isApiError(at) && at.kind === 'invalid-response') look(at.body)
  }
  look(value)
  try {
    parts.push(JSON.stringify(value) ?? '')
  } catch {
    // Circular: searched above.
  }
  parts.push(String(value))
  return parts.join('\n')
}

/** The spellings in which a service may echo a key: plain, escaped in JSON, or percent-encoded as JavaScript, forms, Python and Go do. */
export function spellingsOf(secret: string): string[] {
  const encoded = encodeURIComponent(secret)
  const form = new URLSearchParams([['', secret]]).toString().slice(1)
  const hex = (unit: string) => `%${unit.charCodeAt(0).toString(16).toUpperCase()}`
  const python = encoded.replaceAll('%2F', '/').replace(/[!'()*]/g, hex)
  const go = encoded.replace(/%(?:24|26|2B|3A|3D|40)/g, decodeURIComponent)
  const all = [encoded, form, python, go, secret.replace(/[ -~]/g, hex)].flatMap(text => [
    text,
    text.replace(/%../g, code => code.toLowerCase()),
  ])
  const json = JSON.stringify(secret).slice(1, -1)
  return [...new Set([secret, json, json.replaceAll('/', '\\/'), ...all])]
}

export function expectNoKey(value: unknown, secret = key): void {
  const text = everythingOf(value)
  for (const spelling of spellingsOf(secret)) expect(text).not.toContain(spelling)
}

/** Runs a call that fails, and searches the error, the events and the client for the key. */
export async function failing(
  kind: AnyApiError['kind'],
  server: Pick<FaultServer, 'url'>,
  options: Partial<ClientOptions> = {},
  call = (client: Client): PromiseLike<unknown> => client.virtualAccounts.deactivate(account),
) {
  const events: ClientEvent[] = []
  const secret = typeof options.apiKey === 'string' ? options.apiKey : key
  const client = clientOf(server, {
    apiKey: key,
    maxRetries: 1,
    timeout: 10_000,
    onEvent: event => void events.push(event),
    ...options,
  })
  const error = await apiErrorOf(kind, call(client))
  expect(events.at(-1)).toMatchObject({ type: 'failure', error })
  expectNoKey(error, secret)
  expectNoKey(events, secret)
  expectNoKey(client, secret)
  return error
}
