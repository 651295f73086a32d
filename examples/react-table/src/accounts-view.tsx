import { type FormEvent, useRef, useState } from 'react'
import type { VirtualAccountRef } from 'virtual-accounts'
import {
  type Accounts,
  type Change,
  isSameAccount,
  type Latest,
  type Operation,
  type Resolved,
  type Write,
} from './accounts.ts'
import { Confirm } from './confirm.tsx'
import { explain } from './explain.ts'
import { useReveal } from './focus.ts'
import { dateTime, timeOfDay } from './format.ts'
import { Details, Problem, RetryButton, useSecondsUntil } from './problem.tsx'
import { useStore } from './store.ts'

interface AccountsViewProps {
  readonly accounts: Accounts
  readonly sample: VirtualAccountRef | undefined
}

export function AccountsView({ accounts, sample }: AccountsViewProps) {
  const { pending, inFlight, changes, latest, resolvedElsewhere } = useStore(accounts.store)
  const error = latest && 'error' in latest ? latest.error : undefined
  // When the service accepts changes again, for any account.
  const notBefore = latest && error ? latest.at + (explain(error).waitMs ?? 0) : 0
  const others = pending.filter(
    ({ idempotencyKey }) => !inFlight.has(idempotencyKey) && idempotencyKey !== latest?.write.idempotencyKey,
  )
  return (
    <>
      <div className="heading">
        <h1>Accounts</h1>
        <p className="muted">Deactivate or reactivate an account</p>
      </div>
      <AccountForm accounts={accounts} sample={sample} notBefore={notBefore} />
      {latest && <LatestOutcome accounts={accounts} latest={latest} notBefore={notBefore} />}
      {resolvedElsewhere.map(resolved => (
        <ResolvedElsewhere key={resolved.write.idempotencyKey} resolved={resolved} />
      ))}
      {others.map(write => (
        <UnknownOutcome key={write.idempotencyKey} accounts={accounts} write={write} notBefore={notBefore} />
      ))}
      <Changes changes={changes} />
    </>
  )
}

function AccountForm({ accounts, sample, notBefore }: AccountsViewProps & { readonly notBefore: number }) {
  const { pending, inFlight } = useStore(accounts.store)
  const form = useRef<HTMLFormElement>(null)
  const [customerId, setCustomerId] = useState(sample?.customerId ?? '')
  const [virtualAccountId, setVirtualAccountId] = useState(sample?.virtualAccountId ?? '')
  const [asked, setAsked] = useState<VirtualAccountRef>()
  const account = { customerId: customerId.trim(), virtualAccountId: virtualAccountId.trim() }
  const open = pending.find(write => isSameAccount(write, account))
  const mustWait = useSecondsUntil(notBefore) > 0
  const isDisabled = open !== undefined || mustWait

  async function start(operation: Operation) {
    if (isDisabled || !form.current?.reportValidity()) return
    const [, name = '', reason = ''] = /^(\w+): (.+)/.exec((await accounts.refusal(account)) ?? '') ?? []
    const field = form.current.elements.namedItem(name)
    if (field instanceof HTMLInputElement) {
      field.setCustomValidity(reason.charAt(0).toUpperCase() + reason.slice(1))
      field.reportValidity()
    } else if (operation === 'deactivate') setAsked(account)
    else void accounts.send(operation, account)
  }
  // No button submits the form, so Enter in a field changes no account.
  const ignoreSubmit = (event: FormEvent) => event.preventDefault()
  return (
    <form className="card padded" ref={form} onSubmit={ignoreSubmit}>
      <div className="fields">
        <IdField
          label="Customer id"
          name="customerId"
          example="c1"
          value={customerId}
          onChange={setCustomerId}
        />
        <IdField
          label="Virtual account id"
          name="virtualAccountId"
          example="v1"
          value={virtualAccountId}
          onChange={setVirtualAccountId}
        />
      </div>
      <div className="actions">
        <button
          type="button"
          className="danger"
          aria-disabled={isDisabled}
          onClick={() => void start('deactivate')}
        >
          Deactivate…
        </button>
        <button type="button" aria-disabled={isDisabled} onClick={() => void start('reactivate')}>
          Reactivate
        </button>
        <p role="status" className="muted">
          {open
            ? inFlight.has(open.idempotencyKey)
              ? 'A change to this account is being sent.'
              : 'The outcome of the last change to this account is unknown. Resolve that below first.'
            : mustWait && `The service asks you to wait until ${timeOfDay(notBefore)}.`}
        </p>
      </div>
      {asked && (
        <Confirm
          title={
            <>
              Deactivate account <span className="wrap">{asked.virtualAccountId}</span>?
            </>
          }
          action="Deactivate"
          onConfirm={() => void accounts.send('deactivate', asked)}
          onClose={() => setAsked(undefined)}
        >
          <p>
            It belongs to customer <strong className="wrap">{asked.customerId}</strong>. You can reactivate it
            on this page.
          </p>
        </Confirm>
      )}
    </form>
  )
}

interface IdFieldProps {
  readonly label: string
  readonly name: keyof VirtualAccountRef
  readonly example: string
  readonly value: string
  readonly onChange: (value: string) => void
}

function IdField({ label, name, example, value, onChange }: IdFieldProps) {
  return (
    <label className="field">
      <span>{label}</span>
      <input
        required
        name={name}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        placeholder={`for example ${example}`}
        value={value}
        onChange={({ target }) => {
          target.setCustomValidity('')
          // Spaces alone are not an id.
          onChange(target.value.trimStart())
        }}
      />
    </label>
  )
}

interface LatestOutcomeProps {
  readonly accounts: Accounts
  readonly latest: Latest
  readonly notBefore: number
}

/** The outcome of the last change. Its height stays the same from request to response, so nothing moves. */
function LatestOutcome({ accounts, latest, notBefore }: LatestOutcomeProps) {
  const { write, at, state } = latest
  const { operation, idempotencyKey } = write
  const account = <Account of={write} />
  switch (state) {
    case 'sending':
      return (
        <section className="card padded" aria-label="Latest change" role="status">
          <h2>Sending…</h2>
          <p>
            The request to {operation} {account} was started at {dateTime(at)}.
          </p>
          <Details>Idempotency-Key: {idempotencyKey}</Details>
        </section>
      )
    case 'done':
      return (
        <section className="card padded done" aria-label="Latest change" role="status">
          <h2>Account {operation}d</h2>
          <p>
            The service confirmed the request to {operation} {account} at {dateTime(at)}.
          </p>
          <Details>Idempotency-Key: {idempotencyKey}</Details>
        </section>
      )
    case 'unknown':
      return <UnknownOutcome accounts={accounts} write={write} notBefore={notBefore} error={latest.error} />
    case 'not-sent':
      return (
        <section className="problem" aria-label="Not sent">
          <div role="alert">
            <h2>Nothing was sent: the browser’s storage is full or blocked</h2>
            <p>
              The request to {operation} {account} was not sent, because its idempotency key could not be
              saved. Free some space, or allow this site to store data, then try again.
            </p>
          </div>
          <div className="actions">
            <button type="button" className="primary" onClick={() => void accounts.send(operation, write)}>
              Try again
            </button>
          </div>
          <Details>{explain(latest.error).details}</Details>
        </section>
      )
    case 'rejected':
      return (
        <Problem
          title={`The account was not ${operation}d`}
          error={latest.error}
          at={at}
          action={`Try again to ${operation} it`}
          onAction={() => void accounts.send(operation, write)}
        >
          <p>The request was about {account}.</p>
        </Problem>
      )
  }
}

/** A question of this tab that another tab has answered. */
function ResolvedElsewhere({ resolved: { write, confirmedAt } }: { resolved: Resolved }) {
  const { operation, idempotencyKey } = write
  const isConfirmed = confirmedAt !== undefined
  return (
    <section
      className={isConfirmed ? 'card padded done' : 'card padded'}
      aria-label="Resolved in another tab"
      role="status"
    >
      <h2>{isConfirmed ? `Account ${operation}d` : 'No longer open'}</h2>
      <p>
        The request to {operation} <Account of={write} /> was{' '}
        {isConfirmed
          ? `repeated in another tab. The service confirmed it at ${dateTime(confirmedAt)}.`
          : 'discarded in another tab, or its outcome could not be saved there.'}
      </p>
      <Details>Idempotency-Key: {idempotencyKey}</Details>
    </section>
  )
}

function Account({ of: { virtualAccountId, customerId } }: { of: VirtualAccountRef }) {
  return (
    <>
      account <Id>{virtualAccountId}</Id> of customer <Id>{customerId}</Id>
    </>
  )
}

interface UnknownOutcomeProps {
  readonly accounts: Accounts
  readonly write: Write
  readonly notBefore: number
  /** The error of the last attempt, if this tab made it. */
  readonly error?: unknown
}

function UnknownOutcome({ accounts, write, notBefore, error }: UnknownOutcomeProps) {
  const { operation, customerId, virtualAccountId, idempotencyKey, sentAt } = write
  const box = useRef<HTMLElement>(null)
  useReveal(box, error !== undefined)
  const last = error === undefined ? undefined : explain(error)
  return (
    <section className="problem" ref={box} aria-label={`Was account ${virtualAccountId} ${operation}d?`}>
      <div role="alert">
        <h2>
          Was account <span className="wrap">{virtualAccountId}</span> {operation}d?
        </h2>
        <p>
          The request to {operation} it, for customer <Id>{customerId}</Id>, was sent at {dateTime(sentAt)},
          and no complete response arrived. It may have been applied.
        </p>
        <p>
          Retry with the same key: it tells the service that this is the same request.
          {last && ` Last attempt: ${lowerFirst(last.title)}.`}
        </p>
      </div>
      <div className="actions">
        <RetryButton notBefore={notBefore} className="primary" onClick={() => void accounts.repeat(write)}>
          Retry with the same key
        </RetryButton>
        <button type="button" onClick={() => accounts.discard(write)}>
          I checked the account: discard this request
        </button>
      </div>
      <Details>
        Idempotency-Key: {idempotencyKey}
        {last && (
          <>
            <br />
            {last.details}
          </>
        )}
      </Details>
    </section>
  )
}

function Changes({ changes }: { changes: readonly Change[] }) {
  return (
    <section className="card" aria-labelledby="changes">
      <div className="padded">
        <h2 id="changes">Last confirmed changes in this browser</h2>
        <p className="muted">Not the status of the accounts: the service does not report it.</p>
      </div>
      {changes.length === 0 ? (
        <p className="empty">No change has been confirmed yet.</p>
      ) : (
        <table className="figures changes">
          <caption className="hidden">Last confirmed changes in this browser</caption>
          <thead>
            <tr>
              <th scope="col">Account</th>
              <th scope="col">Customer</th>
              <th scope="col">Change</th>
              <th scope="col">Time</th>
            </tr>
          </thead>
          <tbody>
            {changes.map(({ customerId, virtualAccountId, operation, at }) => (
              <tr key={JSON.stringify([customerId, virtualAccountId])}>
                <td className="account">
                  <Id>{virtualAccountId}</Id>
                </td>
                <td className="customer">
                  <Id>{customerId}</Id>
                </td>
                <td className={operation}>{operation}d</td>
                <td className="time">
                  <time dateTime={new Date(at).toISOString()}>{dateTime(at)}</time>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

function Id({ children }: { children: string }) {
  return <span className="mono">{children}</span>
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
