import { type FormEvent, useRef, useState } from 'react'
import { isApiError } from 'virtual-accounts'
import { type Accounts, type Intent, type Operation, sameAccount } from './accounts.ts'
import { explain } from './explain.ts'
import { useKeepFocus } from './focus.ts'
import { clockTime } from './format.ts'
import { Problem } from './problem.tsx'
import { useStore } from './store.ts'

export function AccountsView({ accounts }: { accounts: Accounts }) {
  const { intents, sending, changes, failure } = useStore(accounts.store)
  const unknown = intents.filter(({ idempotencyKey }) => !sending.has(idempotencyKey))
  const refused = failure && !intents.includes(failure.intent) ? failure : undefined
  return (
    <>
      <div className="heading">
        <h1>Accounts</h1>
        <p className="muted">Deactivate an account, or reactivate it.</p>
      </div>
      <AccountForm accounts={accounts} />
      {refused && (
        <Problem
          error={refused.error}
          at={refused.at}
          action={`${capital(refused.intent.operation)} again`}
          onAction={() => void accounts.send(refused.intent.operation, refused.intent)}
        />
      )}
      {unknown.map(intent => (
        <UnknownOutcome
          key={intent.idempotencyKey}
          accounts={accounts}
          intent={intent}
          error={failure?.intent.idempotencyKey === intent.idempotencyKey ? failure.error : undefined}
        />
      ))}
      <section className="card" aria-labelledby="changes">
        <div className="padded">
          <h2 id="changes">Last change made in this browser</h2>
          <p className="muted">
            Not the status: the service does not show one. Whoever else changes an account is not seen here.
          </p>
        </div>
        {changes.length === 0 ? (
          <p className="empty">Nothing has been changed yet.</p>
        ) : (
          <table className="figures spaced">
            <caption className="hidden">Last change made in this browser</caption>
            <thead>
              <tr>
                <th scope="col">Customer</th>
                <th scope="col">Account</th>
                <th scope="col">Change</th>
                <th scope="col">At</th>
              </tr>
            </thead>
            <tbody>
              {changes.map(({ customerId, virtualAccountId, operation, at }) => (
                <tr key={JSON.stringify([customerId, virtualAccountId])}>
                  <td>{customerId}</td>
                  <td>{virtualAccountId}</td>
                  <td>
                    <span className={`badge ${operation}`}>{operation}d</span>
                  </td>
                  <td>
                    <time dateTime={new Date(at).toISOString()}>{clockTime(at)}</time>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </section>
    </>
  )
}

function AccountForm({ accounts }: { accounts: Accounts }) {
  const { intents, sending, changes } = useStore(accounts.store)
  const [customerId, setCustomerId] = useState('')
  const [virtualAccountId, setVirtualAccountId] = useState('')
  const account = { customerId: customerId.trim(), virtualAccountId: virtualAccountId.trim() }
  const open = intents.find(intent => sameAccount(intent, account))
  const busy = open !== undefined && sending.has(open.idempotencyKey)
  const change = changes.find(other => sameAccount(other, account))

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const { submitter } = event.nativeEvent as SubmitEvent
    const operation = (submitter as HTMLButtonElement | null)?.value as Operation | undefined
    if (operation && !open) void accounts.send(operation, account)
  }
  return (
    <form className="card padded" onSubmit={submit}>
      <div className="fields">
        <label className="field">
          <span>Customer id</span>
          <input
            required
            value={customerId}
            autoComplete="off"
            onChange={e => setCustomerId(e.target.value)}
          />
        </label>
        <label className="field">
          <span>Virtual account id</span>
          <input
            required
            value={virtualAccountId}
            autoComplete="off"
            onChange={e => setVirtualAccountId(e.target.value)}
          />
        </label>
      </div>
      <div className="actions">
        <button type="submit" className="primary" value="deactivate" aria-disabled={open !== undefined}>
          Deactivate
        </button>
        <button type="submit" value="reactivate" aria-disabled={open !== undefined}>
          Reactivate
        </button>
        <p role="status" className="muted">
          {busy && 'Sending…'}
          {open && !busy && 'The outcome of the last change is unknown: settle it first.'}
          {!open && change && `${capital(change.operation)}d at ${clockTime(change.at)}.`}
        </p>
      </div>
    </form>
  )
}

interface UnknownOutcomeProps {
  readonly accounts: Accounts
  readonly intent: Intent
  readonly error: unknown
}

function UnknownOutcome({ accounts, intent, error }: UnknownOutcomeProps) {
  const { operation, customerId, virtualAccountId, idempotencyKey, begun } = intent
  const box = useRef<HTMLElement>(null)
  useKeepFocus(box)
  const title = `Was account ${virtualAccountId} ${operation}d?`
  return (
    <section className="problem" ref={box} aria-label={title}>
      <div role="alert">
        <h2>{title}</h2>
        <p>
          The request to {operation} it for customer {customerId} left at {clockTime(begun)}, and no answer
          came back. It may have been applied.
        </p>
        {error !== undefined && <LastTry error={error} />}
        <p>
          Try again with the same key: it tells the service that this is the same request, not another one.
        </p>
      </div>
      <div className="actions">
        <button type="button" className="primary" onClick={() => void accounts.repeat(intent)}>
          Try again with the same key
        </button>
        <button type="button" onClick={() => accounts.forget(intent)}>
          I have looked: forget it
        </button>
      </div>
      <details>
        <summary>Details</summary>
        <p className="mono">Idempotency-Key: {idempotencyKey}</p>
        {isApiError(error) && <p className="mono">{error.message}</p>}
      </details>
    </section>
  )
}

function LastTry({ error }: { error: unknown }) {
  const { title, advice } = explain(error)
  return (
    <p>
      The last try: {title.toLowerCase()}. {advice}
    </p>
  )
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
