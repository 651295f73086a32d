import { type Client, isApiError, type VirtualAccountRef } from 'virtual-accounts'
import { Store } from './store.ts'
import { StoredEntries } from './stored.ts'

export type Operation = 'deactivate' | 'reactivate'

/** A request to change an account, with the key that makes it safe to repeat. */
export interface Write extends VirtualAccountRef {
  readonly operation: Operation
  readonly idempotencyKey: string
  readonly sentAt: number
}

/** The last change of an account in this browser. The service shows no status. */
export interface Change extends VirtualAccountRef {
  readonly operation: Operation
  /** The key of the request that made it. */
  readonly idempotencyKey: string
  readonly at: number
}

/** The outcome of the last write of this tab. */
export type Latest = { readonly write: Write; readonly at: number } & (
  | { readonly state: 'sending' | 'done' }
  /** `not-sent`: its key could not be saved. `unknown`: it may have been applied. */
  | { readonly state: 'not-sent' | 'rejected' | 'unknown'; readonly error: unknown }
)

/** A write whose outcome was unknown here, until another tab confirmed or discarded it. */
export interface Resolved {
  readonly write: Write
  readonly confirmedAt: number | undefined
}

export interface AccountsState {
  /** Writes without a known outcome. They are in flight, here or in another tab, or their response was lost. */
  readonly pending: readonly Write[]
  /** The keys of the writes in flight. */
  readonly inFlight: ReadonlySet<string>
  /** The newest first. */
  readonly changes: readonly Change[]
  readonly latest: Latest | undefined
  /** Kept until the next write of this tab. */
  readonly resolvedElsewhere: readonly Resolved[]
}

const shownChanges = 20

/**
 * Deactivates and reactivates accounts, and keeps each idempotency key until the outcome is known.
 *
 * A key is saved before its request is sent. If the page is closed or reloaded before the response arrives, you can retry
 * with the saved key instead of sending a second write. While a request is in flight, its tab holds a lock. The browser
 * releases it when the tab closes, so other tabs can tell a request in flight from a lost response.
 */
export class Accounts {
  readonly store: Store<AccountsState>
  readonly #client: Client
  readonly #pending = new StoredEntries<Write>('react-table.write.')
  readonly #changes = new StoredEntries<Change>('react-table.change.')
  /** Keys whose lock was once free, so no other tab is sending their first request. */
  readonly #notInOtherTab = new Set<string>()

  private constructor(client: Client, isInFlight: (key: string) => boolean) {
    this.#client = client
    this.store = new Store<AccountsState>({
      pending: [],
      inFlight: new Set(),
      changes: [],
      latest: undefined,
      resolvedElsewhere: [],
    })
    for (const { idempotencyKey: key } of this.#pending.all())
      if (!isInFlight(key)) this.#notInOtherTab.add(key)
    this.#readStorage()
    this.#pending.onChangeElsewhere(this.#readPending)
    this.#changes.onChangeElsewhere(this.#readStorage)
  }

  /** Checks first which requests other tabs have in flight, so that unknown outcomes are shown from the first paint. */
  static async open(client: Client): Promise<Accounts> {
    const { held = [] } = await navigator.locks.query()
    return new Accounts(client, key => held.some(({ name }) => name === lockName(key)))
  }

  /** Why the client rejects the ids, such as `customerId: …`. It checks them first. This signal keeps it from sending. */
  async refusal({ customerId, virtualAccountId }: VirtualAccountRef): Promise<string | undefined> {
    const signal = AbortSignal.abort()
    try {
      await this.#client.virtualAccounts.reactivate({ customerId, virtualAccountId }, { signal })
    } catch (error) {
      if (error instanceof TypeError) return error.message
    }
    return undefined
  }

  send(operation: Operation, { customerId, virtualAccountId }: VirtualAccountRef) {
    const idempotencyKey = crypto.randomUUID()
    const write = { customerId, virtualAccountId, operation, idempotencyKey, sentAt: Date.now() }
    return this.#inFlight(write, async () => {
      try {
        this.#pending.save(idempotencyKey, write)
      } catch (error) {
        // Without its key, a write whose response is lost could not be repeated safely.
        this.#set({ latest: { write, at: Date.now(), state: 'not-sent', error } })
        return
      }
      this.#readStorage()
      await this.#attempt(write, { isFirst: true })
    })
  }

  /** Repeats a write whose outcome is unknown, with its key. */
  repeat(write: Write) {
    return this.#inFlight(write, async () => {
      // Another tab may have done so meanwhile.
      if (this.#pending.has(write.idempotencyKey)) await this.#attempt(write, { isFirst: false })
    })
  }

  discard(write: Write) {
    this.#pending.remove(write.idempotencyKey)
    this.#readStorage()
  }

  /** Takes the lock before the key is saved, so a saved key with a free lock means a lost response. */
  async #inFlight(write: Write, action: () => Promise<void>) {
    this.#setInFlight(write.idempotencyKey, true)
    this.#set({ latest: { write, at: Date.now(), state: 'sending' }, resolvedElsewhere: [] })
    await withLock(write.idempotencyKey, action)
    this.#setInFlight(write.idempotencyKey, false)
    this.#readStorage()
  }

  async #attempt(write: Write, { isFirst }: { isFirst: boolean }) {
    const { operation, customerId, virtualAccountId, idempotencyKey } = write
    const account = { customerId, virtualAccountId }
    try {
      await this.#client.virtualAccounts[operation](account, { idempotencyKey })
      // The change is saved first, because other tabs look for it once its key is gone.
      this.#saveChange({ ...account, operation, idempotencyKey, at: Date.now() })
      this.#pending.remove(idempotencyKey)
      this.#set({ latest: { write, at: Date.now(), state: 'done' } })
    } catch (error) {
      // An error concerns only its own call. A rejected retry says nothing about the first request.
      const outcomeUnknown = !isFirst || (isApiError(error) && error.outcomeUnknown)
      if (!outcomeUnknown) this.#pending.remove(idempotencyKey)
      const state = outcomeUnknown ? 'unknown' : 'rejected'
      this.#set({ latest: { write, at: Date.now(), state, error } })
    }
  }

  #saveChange(change: Change) {
    this.#set({ changes: lastOfEach([change, ...this.store.get().changes]) })
    try {
      this.#changes.save(changeName(change), change)
      const kept = new Set(lastOfEach(this.#changes.all()).map(changeName))
      for (const old of this.#changes.all())
        if (!kept.has(changeName(old))) this.#changes.remove(changeName(old))
    } catch {
      // Storage is full. The change is shown until the page is closed. The saved one is no longer the last.
      this.#changes.remove(changeName(change))
    }
  }

  /** Keeps writes that another tab resolved, so they do not vanish here without a word. */
  readonly #readPending = () => {
    const { pending, inFlight } = this.store.get()
    this.#readStorage()
    const { pending: left, changes, resolvedElsewhere } = this.store.get()
    const resolved = pending
      .filter(write => !inFlight.has(write.idempotencyKey) && !hasKey(left, write))
      .map(write => ({ write, confirmedAt: changes.find(change => hasKey([write], change))?.at }))
    if (resolved.length > 0) this.#set({ resolvedElsewhere: [...resolved, ...resolvedElsewhere] })
  }

  readonly #readStorage = () => {
    const pending = this.#pending.all().sort((one, other) => other.sentAt - one.sentAt)
    const changes = lastOfEach([...this.#changes.all(), ...this.store.get().changes])
    this.#set({ pending, changes })
    const { latest } = this.store.get()
    if (latest && this.#isOutdated(latest)) this.#set({ latest: undefined })

    for (const { idempotencyKey } of pending) {
      if (!this.#notInOtherTab.has(idempotencyKey)) void this.#awaitOtherTab(idempotencyKey)
    }
  }

  /** Whether another tab has settled the write, or changed its account since. */
  #isOutdated({ write, at, state }: Latest): boolean {
    const { pending, inFlight, changes } = this.store.get()
    if (state === 'done') return changes.some(change => isSameAccount(change, write) && change.at > at)
    const key = write.idempotencyKey
    const isOpen = inFlight.has(key) || hasKey(pending, write)
    return !isOpen && (state === 'unknown' || state === 'sending')
  }

  /** A write found in storage is in flight as long as the tab that sends it holds the lock. */
  async #awaitOtherTab(key: string) {
    this.#notInOtherTab.add(key)
    if (this.store.get().inFlight.has(key)) return
    this.#setInFlight(key, true)
    await withLock(key, () => Promise.resolve())
    this.#setInFlight(key, false)
    this.#readStorage()
  }

  #setInFlight(key: string, value: boolean) {
    const inFlight = new Set(this.store.get().inFlight)
    if (value) inFlight.add(key)
    else inFlight.delete(key)
    this.#set({ inFlight })
  }

  #set(changed: Partial<AccountsState>) {
    this.store.set({ ...this.store.get(), ...changed })
  }
}

export function isSameAccount(one: VirtualAccountRef, other: VirtualAccountRef): boolean {
  return one.customerId === other.customerId && one.virtualAccountId === other.virtualAccountId
}

type Keyed = Pick<Write, 'idempotencyKey'>

function hasKey(entries: readonly Keyed[], { idempotencyKey }: Keyed): boolean {
  return entries.some(entry => entry.idempotencyKey === idempotencyKey)
}

function changeName({ customerId, virtualAccountId }: VirtualAccountRef): string {
  return JSON.stringify([customerId, virtualAccountId])
}

/** The last change of each account, the newest first. */
function lastOfEach(changes: readonly Change[]): Change[] {
  const newestFirst = changes.toSorted((one, other) => other.at - one.at)
  const accounts = new Map<string, Change>()
  for (const change of newestFirst)
    if (!accounts.has(changeName(change))) accounts.set(changeName(change), change)
  return [...accounts.values()].slice(0, shownChanges)
}

function lockName(key: string): string {
  return `react-table.write.${key}`
}

function withLock(key: string, action: () => Promise<void>): Promise<void> {
  return navigator.locks.request(lockName(key), action)
}
