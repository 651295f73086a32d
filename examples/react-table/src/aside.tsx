import { useQueryClient } from '@tanstack/react-query'
import type { ActivityLog } from './activity.ts'
import type { FaultName } from './backend.ts'
import { grouped } from './format.ts'
import { type Store, useStore } from './store.ts'

const faultTexts: Record<FaultName, readonly [label: string, hint: string]> = {
  offline: ['No network', 'Nothing reaches the service.'],
  key: ['Wrong key', 'The page sends another key: 401.'],
  busy: ['Too many requests', '429, and a wait of 65 s: longer than the client waits by itself.'],
  broken: ['A broken page', 'Lists answer what does not fit the interface.'],
  lost: ['Lost answers', 'Changes of accounts are applied, but their answers break off.'],
}

export function Faults({ faults }: { faults: Store<ReadonlySet<FaultName>> }) {
  const on = useStore(faults)
  const queryClient = useQueryClient()

  function toggle(name: FaultName) {
    const next = new Set(on)
    if (!next.delete(name)) next.add(name)
    faults.set(next)
    // To be felt at once. What goes wrong then stays until somebody tries again, as in life.
    if (next.has(name)) void queryClient.invalidateQueries()
  }
  return (
    <section aria-labelledby="faults">
      <h2 id="faults">Make it fail</h2>
      <ul className="faults">
        {(Object.keys(faultTexts) as FaultName[]).map(name => {
          const [label, hint] = faultTexts[name]
          return (
            <li key={name}>
              <button
                type="button"
                role="switch"
                aria-checked={on.has(name)}
                aria-describedby={`fault-${name}`}
                onClick={() => toggle(name)}
              >
                {label}
              </button>
              <p id={`fault-${name}`} className="muted">
                {hint}
              </p>
            </li>
          )
        })}
      </ul>
    </section>
  )
}

/** What the client sends, as it happens. */
export function ActivityPanel({ activity }: { activity: ActivityLog }) {
  const { requests, retries, inFlight, calls } = useStore(activity.store)
  return (
    <section aria-labelledby="activity">
      <h2 id="activity">What the client does</h2>
      <dl className="counters">
        <Counter name="Requests" value={requests} />
        <Counter name="Retries" value={retries} />
        <Counter name="In flight" value={inFlight} />
      </dl>
      <ol className="calls">
        {calls.map(({ id, method, path, page, idempotencyKey, state, detail }) => (
          <li key={id} className={state}>
            <span className="mono">
              {method} {page === undefined ? path.replace(/^.*\//, '…/') : `${path} · ${grouped(page)}`}
            </span>
            <span className="muted">{detail}</span>
            {idempotencyKey && <span className="mono key">key {idempotencyKey}</span>}
          </li>
        ))}
      </ol>
    </section>
  )
}

function Counter({ name, value }: { name: string; value: number }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{grouped(value)}</dd>
    </div>
  )
}
