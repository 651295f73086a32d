import { lazy, Suspense, useDeferredValue, useMemo, useRef, useState } from 'react'
import type { Collection, CurrencySum, Progress } from './collection.ts'
import { csvOf, download } from './csv.ts'
import { Filter, filtered } from './filter.tsx'
import { useKeepFocus } from './focus.ts'
import { duration, grouped } from './format.ts'
import { Problem } from './problem.tsx'
import { useStore } from './store.ts'
import { Amount, VirtualTable } from './transaction-table.tsx'

// The chart is a third of the page's code, and nobody sees one at first.
const SumsChart = lazy(() => import('./sums-chart.tsx'))

export function EverythingView({ collection }: { collection: Collection }) {
  const progress = useStore(collection.store)
  const { state, count, failure } = progress
  const loading = state === 'loading'
  return (
    <>
      <div className="heading">
        <h1>Everything</h1>
        <p className="muted">The whole list in one loop, four pages at a time.</p>
      </div>
      <div className="card padded">
        <Announcement progress={progress} />
        {state === 'idle' ? (
          <p>Load every transaction, to filter them, add them up and take them along as a CSV file.</p>
        ) : (
          <ProgressBar progress={progress} />
        )}
        <div className="actions">
          <button
            type="button"
            className={failure ? undefined : 'primary'}
            aria-disabled={loading}
            onClick={() => loading || void collection.start()}
          >
            {startText[state]}
          </button>
          {loading && <Cancel onClick={collection.cancel} />}
          {!loading && count > 0 && <Download progress={progress} />}
        </div>
      </div>
      {failure && (
        <Problem
          error={failure.error}
          at={failure.at}
          action={
            failure.resumeAt === undefined ? 'Start again' : `Go on from page ${grouped(failure.resumeAt)}`
          }
          onAction={() => void (failure.resumeAt === undefined ? collection.start() : collection.resume())}
        />
      )}
      {count > 0 && (
        <>
          <Sums progress={progress} />
          <Loaded progress={progress} />
        </>
      )}
    </>
  )
}

const startText: Record<Progress['state'], string> = {
  idle: 'Load all',
  loading: 'Loading…',
  done: 'Load all again',
  cancelled: 'Load all again',
  failed: 'Load all again',
}

/** Not in the place of the button that starts: a double click there would start and cancel. */
function Cancel({ onClick }: { onClick: () => void }) {
  const button = useRef<HTMLButtonElement>(null)
  useKeepFocus(button)
  return (
    <button type="button" ref={button} onClick={onClick}>
      Cancel
    </button>
  )
}

function ProgressBar({ progress }: { progress: Progress }) {
  const { state, count, total, seconds, perSecond } = progress
  const left = total === undefined || perSecond === 0 ? undefined : (total - count) / perSecond
  return (
    <div className="progress">
      <progress
        aria-label="Transactions loaded"
        value={total === undefined ? undefined : count}
        max={total || 1}
      />
      <p>
        <strong>{grouped(count)}</strong>
        {total !== undefined && ` of ${grouped(total)}`}
        <span className="muted">
          {state === 'loading' && left !== undefined && ` · ${duration(left)} left`}
          {state === 'done' && ` · in ${seconds.toFixed(1)} s`}
          {state === 'cancelled' && ' · cancelled'}
          {state === 'failed' && ' · stopped'}
          {perSecond > 0 && ` · ${grouped(Math.round(perSecond))} per second`}
        </span>
      </p>
    </div>
  )
}

/** For screen readers: four times on the way, and at the end. */
function Announcement({ progress: { state, count, total } }: { progress: Progress }) {
  const quarter = total ? Math.floor((count / total) * 4) * 25 : 0
  const texts: Record<Progress['state'], string> = {
    idle: '',
    loading: `Loading, ${quarter} % done`,
    done: `All ${grouped(count)} transactions are loaded`,
    cancelled: `Cancelled, ${grouped(count)} transactions are loaded`,
    failed: `Stopped, ${grouped(count)} transactions are loaded`,
  }
  return (
    <p className="hidden" role="status">
      {texts[state]}
    </p>
  )
}

function Download({ progress: { transactions } }: { progress: Progress }) {
  const [busy, setBusy] = useState(false)
  async function save() {
    setBusy(true)
    try {
      download(await csvOf(transactions), 'transactions.csv')
    } finally {
      setBusy(false)
    }
  }
  return (
    <button type="button" aria-disabled={busy} onClick={() => busy || void save()}>
      Download CSV
    </button>
  )
}

function Sums({ progress: { state, sums } }: { progress: Progress }) {
  return (
    <section className="card padded" aria-labelledby="sums">
      <h2 id="sums">Per currency</h2>
      <div className="sums">
        <SumsTable sums={sums} />
        {state !== 'loading' && (
          <Suspense fallback={<p className="muted">Drawing…</p>}>
            <SumsChart sums={sums} />
          </Suspense>
        )}
      </div>
    </section>
  )
}

function SumsTable({ sums }: { sums: readonly CurrencySum[] }) {
  return (
    <table className="figures">
      <caption className="hidden">Count and sum per currency</caption>
      <thead>
        <tr>
          <th scope="col">Currency</th>
          <th scope="col" className="amount">
            Count
          </th>
          <th scope="col" className="amount">
            Sum
          </th>
        </tr>
      </thead>
      <tbody>
        {sums.map(({ currency, count, sum }) => (
          <tr key={currency}>
            <th scope="row">{currency}</th>
            <td className="amount">{grouped(count)}</td>
            <td className="amount">
              <Amount value={sum} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Loaded({ progress: { transactions, count } }: { progress: Progress }) {
  const [wanted, setWanted] = useState('')
  const deferred = useDeferredValue(wanted)
  const rows = useMemo(
    () => filtered(transactions.slice(0, count), deferred),
    [transactions, count, deferred],
  )
  return (
    <section className="card" aria-label="Loaded transactions">
      <div className="toolbar">
        <Filter label="Filter what is loaded" value={wanted} onChange={setWanted} />
        <p className="muted">
          {grouped(rows.length)} of {grouped(count)}
        </p>
      </div>
      {rows.length > 0 ? (
        <VirtualTable label="All loaded transactions" transactions={rows} />
      ) : (
        <p className="empty">Nothing that is loaded fits the filter.</p>
      )}
    </section>
  )
}
