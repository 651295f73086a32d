import { keepPreviousData, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useEffect, useState } from 'react'
import type { Client } from 'virtual-accounts'
import { Filter, filtered } from './filter.tsx'
import { grouped } from './format.ts'
import { Problem } from './problem.tsx'
import { goTo, pageSizes, type Route } from './route.ts'
import { PageTable } from './transaction-table.tsx'

/** One page of transactions as a query: the list is awaited, the signal ends it when nobody waits any more. */
function pageQuery(client: Client, page: number, limit: number) {
  return queryOptions({
    queryKey: ['transactions', page, limit],
    queryFn: async ({ signal }) => await client.transactions.list({ page, limit }, { signal }),
  })
}

export function TransactionsView({ client, route }: { client: Client; route: Route }) {
  const { page, limit } = route
  const queryClient = useQueryClient()
  const { data, error, errorUpdatedAt, isFetching, isPlaceholderData, refetch } = useQuery({
    ...pageQuery(client, page, limit),
    placeholderData: keepPreviousData,
  })
  const [wanted, setWanted] = useState('')

  const hasNextPage = data?.hasNextPage === true && !isPlaceholderData
  useEffect(() => {
    if (hasNextPage) void queryClient.prefetchQuery(pageQuery(client, page + 1, limit))
  }, [queryClient, client, page, limit, hasNextPage])

  const rows = filtered(data?.data ?? [], wanted)
  const summary =
    data && `${grouped(data.totalItems)} ${data.totalItems === 1 ? 'transaction' : 'transactions'}`
  return (
    <>
      <div className="heading">
        <h1>Transactions</h1>
        <p className="muted" role="status">
          {summary ?? (error ? '' : 'Loading…')}
        </p>
      </div>
      {error && (
        <Problem
          error={error}
          at={errorUpdatedAt}
          busy={isFetching}
          action="Try again"
          onAction={() => void refetch()}
        />
      )}
      <div className="card">
        <div className="toolbar">
          <Filter label="Filter this page" value={wanted} onChange={setWanted} />
          <label className="field">
            <span>Rows per page</span>
            <select value={limit} onChange={event => goTo(resized(route, Number(event.target.value)))}>
              {pageSizes.map(size => (
                <option key={size}>{size}</option>
              ))}
            </select>
          </label>
        </div>
        <div className={isPlaceholderData ? 'stale' : undefined} aria-busy={isFetching}>
          {data ? (
            <PageTable label={`Transactions, page ${data.page} of ${data.pageCount}`} transactions={rows} />
          ) : (
            !error && <Skeleton rows={Math.min(limit, 10)} />
          )}
          {data && rows.length === 0 && (
            <p className="empty">
              {data.data.length > 0
                ? 'Nothing on this page fits the filter.'
                : 'There is nothing on this page.'}
            </p>
          )}
        </div>
        <Pager route={route} pageCount={data?.pageCount} hasNextPage={data?.hasNextPage === true} />
      </div>
    </>
  )
}

interface PagerProps {
  readonly route: Route
  readonly pageCount: number | undefined
  readonly hasNextPage: boolean
}

function Pager({ route, pageCount, hasNextPage }: PagerProps) {
  const { page } = route
  const [typed, setTyped] = useState<string>()
  const turnTo = (wanted: number) => goTo({ ...route, page: wanted })

  function submit(event: FormEvent) {
    event.preventDefault()
    const wanted = Math.trunc(Number(typed ?? page))
    setTyped(undefined)
    if (wanted >= 1) turnTo(Math.min(wanted, pageCount || wanted))
  }
  return (
    <nav className="pager" aria-label="Pages">
      <PageButton label="First page" sign="«" enabled={page > 1} onClick={() => turnTo(1)} />
      <PageButton label="Previous page" sign="‹" enabled={page > 1} onClick={() => turnTo(page - 1)} />
      <form onSubmit={submit}>
        <label>
          Page{' '}
          <input
            inputMode="numeric"
            pattern="[0-9]*"
            value={typed ?? page}
            onChange={event => setTyped(event.target.value)}
            onBlur={() => setTyped(undefined)}
          />
        </label>
        {pageCount !== undefined && <span className="muted">of {grouped(pageCount)}</span>}
      </form>
      <PageButton label="Next page" sign="›" enabled={hasNextPage} onClick={() => turnTo(page + 1)} />
      <PageButton
        label="Last page"
        sign="»"
        enabled={hasNextPage && pageCount !== undefined}
        onClick={() => turnTo(pageCount ?? page)}
      />
    </nav>
  )
}

interface PageButtonProps {
  readonly label: string
  readonly sign: string
  readonly enabled: boolean
  readonly onClick: () => void
}

/** Stays focusable at the end of the list: a disabled button would drop the focus of whoever turns pages by key. */
function PageButton({ label, sign, enabled, onClick }: PageButtonProps) {
  return (
    <button
      type="button"
      className="quiet"
      aria-label={label}
      title={label}
      aria-disabled={!enabled}
      onClick={() => enabled && onClick()}
    >
      <span aria-hidden="true">{sign}</span>
    </button>
  )
}

/** With the row that was first still on the page. */
function resized(route: Route, limit: number): Route {
  return { ...route, limit, page: Math.floor(((route.page - 1) * route.limit) / limit) + 1 }
}

function Skeleton({ rows }: { rows: number }) {
  return (
    <div className="skeleton" aria-hidden="true">
      {Array.from({ length: rows }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
        <div key={index} />
      ))}
    </div>
  )
}
