import { type Client, isApiError, type VirtualAccountRef } from 'virtual-accounts'
import { Store } from './store.ts'

export type Operation = 'deactivate' | 'reactivate'

/** A write that was begun, and what repeats it. */
export interface Intent extends VirtualAccountRef {
  readonly operation: Operation
  readonly idempotencyKey: string
  readonly begun: number
}

/** What this browser last did to an account. The service shows no status, so it is all that is known. */
export interface LastChange extends VirtualAccountRef {
  readonly operation: Operation
  readonly at: number
}

export interface AccountsState {
  /** Under way, or of unknown outcome. */
  readonly intents: readonly Intent[]
  /** The keys of those under way. */
  readonly sending: ReadonlySet<string>
  readonly changes: readonly LastChange[]
  readonly failure: { readonly intent: Intent; readonly error: unknown; readonly at: number } | undefined
}

const intentsName = 'react-table.intents'
const changesName = 'react-table.changes'

/**
 * Deactivates and reactivates, and forgets no idempotency key before the outcome is known.
 *
 * A key is written down before its request leaves. So a page that was closed or reloaded meanwhile finds it again, and
 * repeats the same write instead of making a second. In another tab a write that is still under way looks unknown, too:
 * to repeat it does no harm, which is what the key is for.
 */
export class Accounts {
  readonly store: Store<AccountsState>
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
    this.store = new Store<AccountsState>({
      intents: stored<Intent>(intentsName),
      sending: new Set(),
      changes: stored<LastChange>(changesName),
      failure: undefined,
    })
  }

  send(operation: Operation, account: VirtualAccountRef) {
    const intent = { ...account, operation, idempotencyKey: crypto.randomUUID(), begun: Date.now() }
    this.#set({ intents: [...this.store.get().intents, intent] })
    return this.#attempt(intent, true)
  }

  repeat(intent: Intent) {
    return this.#attempt(intent, false)
  }

  forget(intent: Intent) {
    const { intents, failure } = this.store.get()
    this.#set({
      intents: intents.filter(other => other.idempotencyKey !== intent.idempotencyKey),
      failure: failure?.intent.idempotencyKey === intent.idempotencyKey ? undefined : failure,
    })
  }

  async #attempt(intent: Intent, first: boolean) {
    const { operation, customerId, virtualAccountId, idempotencyKey } = intent
    const account = { customerId, virtualAccountId }
    this.#set({ failure: undefined })
    this.#setSending(idempotencyKey, true)
    try {
      await this.#client.virtualAccounts[operation](account, { idempotencyKey })
      this.forget(intent)
      this.#remember({ ...account, operation, at: Date.now() })
    } catch (error) {
      // An error knows its own call only: that a repetition was refused says nothing of the first.
      const outcomeUnknown = !first || (isApiError(error) && error.outcomeUnknown)
      if (!outcomeUnknown) this.forget(intent)
      this.#set({ failure: { intent, error, at: Date.now() } })
    } finally {
      this.#setSending(idempotencyKey, false)
    }
  }

  #remember(change: LastChange) {
    const others = this.store.get().changes.filter(other => !sameAccount(other, change))
    this.#set({ changes: [change, ...others].slice(0, 20) })
  }

  #setSending(key: string, under: boolean) {
    const sending = new Set(this.store.get().sending)
    if (under) sending.add(key)
    else sending.delete(key)
    this.#set({ sending })
  }

  #set(changed: Partial<AccountsState>) {
    const state = { ...this.store.get(), ...changed }
    // First on disk: what cannot be written down is not sent.
    if (changed.intents) localStorage.setItem(intentsName, JSON.stringify(state.intents))
    if (changed.changes) localStorage.setItem(changesName, JSON.stringify(state.changes))
    this.store.set(state)
  }
}

export function sameAccount(one: VirtualAccountRef, other: VirtualAccountRef): boolean {
  return one.customerId === other.customerId && one.virtualAccountId === other.virtualAccountId
}

function stored<T>(name: string): T[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(name) ?? '[]')
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}
