import { memo, type ReactNode, useCallback, useMemo, useRef, useState } from 'react'
import { isApiError } from 'virtual-accounts'
import type { Collection, Progress } from './collection.ts'
import { csvOf, download } from './csv.ts'
import { explain } from './explain.ts'
import { Filter, NoMatch } from './filter.tsx'
import { useReveal } from './focus.ts'
import { counted, duration, grouped, timeOfDay } from './format.ts'
import { Details, RetryButton } from './problem.tsx'
import { useMatches } from './search.ts'
import { useStore } from './store.ts'
import { Summary } from './summary.tsx'
import { PlaceholderTable, VirtualTable } from './transaction-table.tsx'

export function EverythingView({ collection, filter }: { collection: Collection; filter: string }) {
  const progress = useStore(collection.store)
  const { state, count } = progress
  return (
    <>
      <div className="heading">
        <h1>All transactions</h1>
        <p className="muted">The whole list in overlapping pages, four at a time</p>
      </div>
      <Loader collection={collection} progress={progress} />
      {state === 'done' && count === 0 && (
        <div className="card empty">
          <h2>The list is empty</h2>
          <p>The service has no transactions. Once it has some, load them again.</p>
        </div>
      )}
      {(state === 'loading' || count > 0) && (
        <>
          <Summary progress={progress} />
          <Loaded progress={progress} filter={filter} />
        </>
      )}
    </>
  )
}

/** Progress, a message, and the next step. Its height is constant, so nothing below it moves. */
const Loader = memo(({ collection, progress }: { collection: Collection; progress: Progress }) => {
  const { state, total, count } = progress
  return (
    <section className="card padded loader" aria-label="Load all transactions">
      <Announcement progress={progress} />
      <div className="progress">
        <progress
          aria-label="Transactions loaded"
          value={state === 'loading' && total === undefined ? undefined : count}
          max={total || 1}
        />
        <Figures progress={progress} />
      </div>
      <div className="actions">
        <LoadButton collection={collection} progress={progress} />
        {state !== 'loading' && count > 0 && <Download progress={progress} />}
      </div>
      <div className="message">
        <Message progress={progress} />
      </div>
    </section>
  )
})

function Figures({ progress: { state, count, total, seconds } }: { progress: Progress }) {
  if (state === 'idle') {
    return (
      <p className="muted">
        Load all transactions to filter them, add them up and download them as a CSV file.
      </p>
    )
  }
  if (total === undefined)
    return <p className="steady">{state === 'loading' ? 'Loading…' : 'Nothing was loaded.'}</p>
  const perSecond = count / seconds
  const speed = [
    count > 0 && `${grouped(Math.round(perSecond))} a second`,
    // Before a hundredth is done, it would be a guess.
    state === 'loading' && count * 100 >= total && `${duration((total - count) / perSecond)} left`,
  ]
  const facts: Record<Progress['state'], string> = {
    idle: '',
    loading: '',
    done: `Done in ${seconds.toFixed(1)} s`,
    cancelled: 'Cancelled',
    failed: 'Stopped',
  }
  return (
    <p className="steady">
      <strong>{grouped(count)}</strong> of {grouped(total)}
      <br />
      <span className="muted">{[facts[state], ...speed].filter(Boolean).join(', ')}</span>
    </p>
  )
}

function Message({ progress: { state, failure, count } }: { progress: Progress }) {
  if (failure) {
    const { title, advice, waitMs, details } = explain(failure.error)
    return (
      <>
        <Alert>
          <strong>{title}.</strong> {advice}
          {waitMs !== undefined && ` Wait until ${timeOfDay(failure.at + waitMs)}.`}
        </Alert>
        <Details>{details}</Details>
      </>
    )
  }
  const texts: Record<Progress['state'], string> = {
    idle: '',
    loading: 'Sums cover what is loaded so far. You can filter and scroll the list while it grows.',
    done: count > 0 ? 'Sums are exact, and the CSV file is complete.' : 'The whole list is loaded.',
    cancelled:
      count > 0
        ? 'Only part of the list is loaded. Resume to load the rest.'
        : 'Cancelled before the first page arrived.',
    failed: '',
  }
  return (
    <>
      {state === 'done' && count > 0 && <p className="badge">Verified: no transaction was missed</p>}
      {texts[state] && <p className="muted">{texts[state]}</p>}
    </>
  )
}

function Alert({ children }: { children: ReactNode }) {
  const alert = useRef<HTMLParagraphElement>(null)
  useReveal(alert)
  return (
    <p role="alert" ref={alert}>
      {children}
    </p>
  )
}

/**
 * One button loads, cancels and resumes, and keeps the focus. When loading ends by itself, another button replaces it,
 * without the focus, so a click or an Enter meant for "Cancel" never downloads a file.
 */
function LoadButton({
  collection,
  progress: { state, count, failure },
}: {
  collection: Collection
  progress: Progress
}) {
  if (state === 'done') {
    return (
      <button
        type="button"
        className={count === 0 ? 'primary' : undefined}
        data-next="#load"
        onClick={() => void collection.start()}
      >
        Load again
      </button>
    )
  }
  if (state === 'loading') {
    return (
      <RetryButton id="load" notBefore={0} className={undefined} onClick={collection.cancel}>
        Cancel
      </RetryButton>
    )
  }
  // Resuming could miss transactions.
  const mustStartOver = isApiError(failure?.error) && failure.error.kind === 'pagination'
  const { isRetryable, waitMs = 0 } = failure ? explain(failure.error) : { isRetryable: true }
  return (
    <RetryButton
      id="load"
      notBefore={(failure?.at ?? 0) + waitMs}
      className={isRetryable ? 'primary' : undefined}
      onClick={() => void (mustStartOver ? collection.start() : collection.resume())}
    >
      {mustStartOver ? 'Start over' : count > 0 ? 'Resume' : failure ? 'Try again' : 'Load all'}
    </RetryButton>
  )
}

/** For screen readers: at the beginning, at each quarter, and at the end. */
function Announcement({ progress: { state, count, total } }: { progress: Progress }) {
  const percent = total ? Math.floor((count / total) * 100) : 0
  const quarter = Math.floor(percent / 25)
  const [said, setSaid] = useState({ state, quarter, percent })
  if (state !== said.state || quarter !== said.quarter) setSaid({ state, quarter, percent })
  const texts: Record<Progress['state'], string> = {
    idle: '',
    loading: `Loading, ${said.percent} % done`,
    done: `Complete: ${counted(count, 'transaction')} loaded`,
    cancelled: `Cancelled: ${counted(count, 'transaction')} loaded`,
    failed: `Stopped: ${counted(count, 'transaction')} loaded`,
  }
  return (
    <p className="hidden" role="status">
      {texts[state]}
    </p>
  )
}

/** The label and the file name say whether the whole list is in the file. */
function Download({ progress }: { progress: Progress }) {
  const { state, transactions, count, total } = progress
  const [busy, setBusy] = useState(false)
  const isPart = state === 'cancelled' || state === 'failed'
  const name = isPart ? `transactions-partial-${count}-of-${total}.csv` : `transactions-all-${count}.csv`
  async function save() {
    setBusy(true)
    try {
      download(await csvOf(transactions.slice(0, count)), name)
    } finally {
      setBusy(false)
    }
  }
  return (
    <button
      type="button"
      className={isPart ? undefined : 'primary'}
      aria-disabled={busy}
      onClick={() => !busy && void save()}
    >
      {isPart ? 'Download partial CSV' : 'Download CSV'}
    </button>
  )
}

const Loaded = memo(({ progress, filter }: { progress: Progress; filter: string }) => {
  const { transactions, texts, count, place } = progress
  const matches = useMatches(texts, count, filter)
  const rowAt = useCallback(
    (position: number) => transactions[matches ? (matches[position] ?? -1) : position],
    [transactions, matches],
  )
  const rows = matches ? matches.length : count
  // Each filter starts at the first match. Without one, the list is where it was.
  const top = useMemo(() => ({ filter, scrollTop: 0 }), [filter])
  return (
    <section className="card" aria-label="Loaded transactions">
      <div className="toolbar">
        <Filter
          label="Filter what is loaded"
          value={filter}
          matching={matches?.length}
          count={count}
          isGrowing={progress.state === 'loading'}
        />
      </div>
      {count === 0 ? (
        <PlaceholderTable />
      ) : rows > 0 ? (
        <VirtualTable
          label="All loaded transactions"
          count={rows}
          rowAt={rowAt}
          place={matches ? top : place}
        />
      ) : (
        <div className="scroller">
          <NoMatch filter={filter} what="loaded transaction" />
        </div>
      )}
    </section>
  )
})
