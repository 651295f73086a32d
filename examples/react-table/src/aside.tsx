import { useQueryClient } from '@tanstack/react-query'
import { type ActivityLog, type Call, callMarks } from './activity.ts'
import type { Backend, FaultName } from './backend.ts'
import { grouped } from './format.ts'
import { type Store, useStore } from './store.ts'

const faultTexts: Record<FaultName, readonly [label: string, hint: string]> = {
  slow: ['Slow service', 'Each response takes 3 s.'],
  overloaded: ['Overloaded', '503 and Retry-After: 5 s. The client retries twice.'],
  offline: ['No network', 'No request reaches the service.'],
  busy: ['Rate limited', '429 and Retry-After: 120 s, longer than the client waits.'],
  key: ['Wrong API key', 'The service responds with 401.'],
  broken: ['Invalid page', 'Lists do not match the specification.'],
  missing: ['No such account', 'Changes to accounts are rejected with 404.'],
  lost: ['Lost responses', 'Accounts are changed, but the responses are cut off.'],
}

/** Beside the view if it is wide, so cause and effect are in view together. Otherwise above it, and closed. */
export function Aside({ backend, isWide }: { backend: Backend; isWide: boolean }) {
  const { faults, activity } = backend
  const label = faults ? 'Failures and activity' : 'Client activity'
  const panels = (
    <>
      {faults && <Faults faults={faults} />}
      <Calls activity={activity} />
    </>
  )
  return (
    <aside aria-label={label}>
      {isWide ? (
        panels
      ) : (
        <details className="panel">
          <summary>{label}</summary>
          <div className="panels">{panels}</div>
        </details>
      )}
    </aside>
  )
}

function Faults({ faults }: { faults: Store<ReadonlySet<FaultName>> }) {
  const on = useStore(faults)
  const queryClient = useQueryClient()

  function toggle(name: FaultName) {
    const next = new Set(on)
    if (!next.delete(name)) next.add(name)
    faults.set(next)
    // Refetch, so the failure shows immediately. It stays until a retry. Requests in flight are cancelled first, because
    // they would still succeed, and `invalidateQueries` waits for them if there is no data yet.
    if (next.has(name)) void queryClient.cancelQueries().then(() => queryClient.invalidateQueries())
  }
  return (
    <section className="panel" aria-labelledby="faults">
      <h2 id="faults">Simulate failures</h2>
      <ul className="faults">
        {(Object.keys(faultTexts) as FaultName[]).map(name => {
          const [label, hint] = faultTexts[name]
          return (
            <li key={name}>
              <label title={hint}>
                <input
                  type="checkbox"
                  aria-description={hint}
                  checked={on.has(name)}
                  onChange={() => toggle(name)}
                />
                {label}
              </label>
            </li>
          )
        })}
      </ul>
      {[...on].map(name => (
        <p key={name} className="muted hint">
          {faultTexts[name].join(': ')}
        </p>
      ))}
    </section>
  )
}

/** The client's requests, live. */
function Calls({ activity }: { activity: ActivityLog }) {
  const { requests, retries, inFlight, calls } = useStore(activity.store)
  return (
    <section className="panel" aria-labelledby="activity">
      <h2 id="activity">Client activity</h2>
      <dl className="counters">
        <Counter name="Requests" value={requests} />
        <Counter name="Retries" value={retries} />
        <Counter name="In flight" value={inFlight} />
      </dl>
      <ol className="calls" aria-label="Latest calls">
        {calls.length === 0 && <li className="detail">No requests yet</li>}
        {calls.slice(0, 4).map((call, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line stays where it is, and its text changes
          <li key={index} className={call.state}>
            <CallLine call={call} />
          </li>
        ))}
      </ol>
    </section>
  )
}

function CallLine({ call }: { call: Call }) {
  const { method, path, items, state, detail, idempotencyKey } = call
  const [, customer, account, operation] = accountPath.exec(path) ?? []
  return (
    <>
      <span className="mono">
        {method} {operation ?? path}
        {items && `, items ${items}`}
      </span>
      {account && customer && (
        <>
          <span className="mono">account {decodeURIComponent(account)}</span>
          <span className="mono">customer {decodeURIComponent(customer)}</span>
        </>
      )}
      <span className="detail">
        <span className="mark" aria-hidden="true">
          {callMarks[state]}
        </span>{' '}
        {detail}
      </span>
      {idempotencyKey && <span className="mono">key {idempotencyKey}</span>}
    </>
  )
}

const accountPath = /^\/customers\/([^/]+)\/virtual_accounts\/([^/]+)\/(\w+)$/

function Counter({ name, value }: { name: string; value: number }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{grouped(value)}</dd>
    </>
  )
}
