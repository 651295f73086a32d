import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { type CSSProperties, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import type { Client, Page, Transaction } from 'virtual-accounts'
import { Filter, NoMatch } from './filter.tsx'
import { counted, dateTime, grouped } from './format.ts'
import { Pager } from './pager.tsx'
import { Problem } from './problem.tsx'
import { goTo, pageSizes, type Route } from './route.ts'
import { hasEvery, normalized, searchText } from './search.ts'
import { PageTable } from './transaction-table.tsx'

/** One page of transactions as a query. Its signal cancels the request once nothing waits for it. */
function pageQuery(client: Client, page: number, limit: number) {
  return queryOptions({
    queryKey: ['transactions', page, limit],
    queryFn: async ({ signal }) => await client.transactions.list({ page, limit }, { signal }),
  })
}

export function TransactionsView({ client, route }: { client: Client; route: Route }) {
  const { page, limit, filter } = route
  const queryClient = useQueryClient()
  const { data, dataUpdatedAt, error, errorUpdatedAt, isFetching, refetch } = useQuery(
    pageQuery(client, page, limit),
  )
  const [dismissedAt, setDismissedAt] = useState<number>()
  const list = useRef<HTMLDivElement>(null)

  // The last page stays while another is loaded, and if that fails. (`keepPreviousData` keeps it only while loading.)
  const [lastLoaded, setLastLoaded] = useState<Page<Transaction>>()
  if (data && data !== lastLoaded) setLastLoaded(data)
  const shown = data ?? lastLoaded
  const isDismissed = errorUpdatedAt === dismissedAt
  const isStale = shown !== undefined && (!data || (error !== null && !isDismissed))

  const totalItems = shown?.totalItems
  const pageCount = totalItems === undefined ? undefined : Math.ceil(totalItems / limit)
  const isEmpty = totalItems === 0
  const isNotLoaded = error !== null && !shown
  const isList = !isEmpty && !isNotLoaded
  const isBeyondEnd = data !== undefined && pageCount !== undefined && pageCount > 0 && page > pageCount

  useEffect(() => {
    // The list has fewer pages than the URL expects.
    if (isBeyondEnd) goTo({ page: pageCount }, { replace: true })
  }, [isBeyondEnd, pageCount])

  const hasNextPage = data?.hasNextPage === true
  useEffect(() => {
    if (hasNextPage) void queryClient.prefetchQuery(pageQuery(client, page + 1, limit))
  }, [queryClient, client, page, limit, hasNextPage])

  const wanted = normalized(useDeferredValue(filter))
  const rows = useMemo(() => {
    const isMatch = hasEvery(wanted)
    return shown?.data.filter(transaction => isMatch(searchText(transaction)))
  }, [shown, wanted])

  function turnTo(next: number) {
    goTo({ page: next })
    // Back to the first row, unless it is already in view.
    if (list.current && list.current.getBoundingClientRect().top < 0) list.current.scrollIntoView()
  }

  const rowCount = Math.min(limit, totalItems ?? limit)
  const problem = error && !isDismissed && (
    <Problem
      error={error}
      at={errorUpdatedAt}
      busy={isFetching}
      action="Try again"
      onAction={() => void refetch()}
      more={
        shown && (
          <button
            type="button"
            onClick={() =>
              data ? setDismissedAt(errorUpdatedAt) : goTo({ page: shown.page, limit: shown.limit })
            }
          >
            {data ? 'Dismiss' : `Back to page ${shown.page}`}
          </button>
        )
      }
    >
      {shown && (
        <p>
          {data
            ? `The rows were loaded at ${dateTime(dataUpdatedAt)}.`
            : `Page ${page} was not loaded. The rows are still those of page ${shown.page}.`}
        </p>
      )}
    </Problem>
  )
  const total = totalItems === undefined ? 'Loading…' : counted(totalItems, 'transaction')
  let announcement = ''
  if (isEmpty) announcement = total
  else if (!data || isBeyondEnd) announcement = error ? '' : `Loading page ${page}…`
  else announcement = `Page ${grouped(page)} of ${grouped(data.pageCount)}, ${total}`
  return (
    <>
      <div className="heading">
        <h1>Transactions</h1>
        <p className="muted">
          {isNotLoaded ? 'Not loaded' : total}
          {/* The fact from the dismissed message. */}
          {error && data && isDismissed && `, loaded at ${dateTime(dataUpdatedAt)}`}
        </p>
        <p className="hidden" role="status">
          {announcement}
        </p>
      </div>
      <div className="card list" ref={list}>
        {isList && (
          <div className="toolbar">
            <Filter
              label="Filter this page"
              value={filter}
              matching={wanted === '' || isBeyondEnd ? undefined : rows?.length}
              count={shown?.data.length ?? 0}
            />
            <label className="field">
              <span>Rows per page</span>
              <select value={limit} onChange={event => goTo(resized(route, Number(event.target.value)))}>
                {pageSizes.map(size => (
                  <option key={size}>{size}</option>
                ))}
              </select>
            </label>
          </div>
        )}
        {isNotLoaded ? (
          problem
        ) : isEmpty ? (
          <div className="empty">
            <h2>No transactions yet</h2>
            <p>The service has none. They appear here once it has some.</p>
            <button type="button" onClick={() => void refetch()}>
              {isFetching ? 'Loading…' : 'Check again'}
            </button>
          </div>
        ) : (
          <div
            className="rows"
            style={{ '--rows': rowCount } as CSSProperties}
            data-stale={isStale || isBeyondEnd}
            aria-busy={isFetching}
          >
            {rows?.length === 0 && !isBeyondEnd && wanted !== '' ? (
              <NoMatch filter={filter} what="transaction on this page" />
            ) : (
              <PageTable
                label={
                  shown ? `Transactions, page ${shown.page} of ${grouped(shown.pageCount)}` : 'Transactions'
                }
                transactions={isBeyondEnd ? undefined : rows}
                placeholders={rowCount}
              />
            )}
          </div>
        )}
        <div className="dock">
          {shown && problem}
          {isList && <Pager page={page} pageCount={pageCount} busy={isFetching && !data} onTurn={turnTo} />}
        </div>
      </div>
    </>
  )
}

/** The page of the new size that contains the first row of the current one. */
function resized({ page, limit }: Route, newLimit: number): Partial<Route> {
  return { limit: newLimit, page: Math.floor(((page - 1) * limit) / newLimit) + 1 }
}
