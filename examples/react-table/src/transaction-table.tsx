import { type CSSProperties, memo, useLayoutEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import type { Transaction } from 'virtual-accounts'
import { money } from './format.ts'
import { narrow, useMedia } from './media.ts'

interface PageTableProps {
  readonly label: string
  /** `undefined` until they are loaded. */
  readonly transactions: readonly Transaction[] | undefined
  /** Number of rows to show until then. */
  readonly placeholders: number
}

/** One page of transactions. Placeholders are as tall as rows, so nothing moves when rows arrive. */
export const PageTable = memo(({ label, transactions, placeholders }: PageTableProps) => (
  <table className="transactions">
    <caption className="hidden">{label}</caption>
    <Head />
    {transactions ? (
      <tbody>
        {transactions.map(transaction => (
          <Row key={transaction.id} transaction={transaction} />
        ))}
      </tbody>
    ) : (
      <Placeholders columns={columns} count={placeholders} />
    )}
  </table>
))

interface VirtualTableProps {
  readonly label: string
  readonly count: number
  readonly rowAt: (position: number) => Transaction | undefined
  /** The scroll position, kept while the table is hidden. */
  readonly place: { scrollTop: number }
}

/**
 * A table of any length. Only the rows in view are in the document.
 *
 * The browser scrolls before it handles the scroll event, and would show a gap instead of rows that are not rendered yet.
 * So the rows do not scroll. They are in a box that sticks to the visible part, rendered for the scroll offset. On a slow
 * machine they may be late, but never blank. Rows are reused for other transactions, which is cheaper than new rows.
 */
export function VirtualTable({ label, count, rowAt, place }: VirtualTableProps) {
  const scroller = useRef<HTMLElement>(null)
  const rowHeight = useMedia(narrow) ? 64 : 44
  const [{ top, height }, setView] = useState({ top: 0, height: 0 })
  useLayoutEffect(() => {
    const element = scroller.current
    if (!element) return
    const look = () => {
      place.scrollTop = element.scrollTop
      setView({ top: element.scrollTop, height: element.clientHeight })
    }
    element.scrollTop = place.scrollTop
    look()
    // Renders before the browser paints the new scroll position.
    const onScroll = () => flushSync(look)
    const observer = new ResizeObserver(look)
    observer.observe(element)
    element.addEventListener('scroll', onScroll)
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', onScroll)
    }
  }, [place])

  // All rows have the same height, so the rows in view are known without measuring.
  const rows = Math.min(count, Math.ceil(height / rowHeight) + 1)
  const first = Math.min(Math.floor(top / rowHeight), count - rows)
  const style = {
    '--rows-height': `${count * rowHeight}px`,
    '--offset': `${first * rowHeight - top}px`,
  } as CSSProperties
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it the keyboard could not scroll
    <section className="scroller" ref={scroller} tabIndex={0} aria-label={label} style={style}>
      <div className="scrolled">
        <div className="window">
          <table className="transactions" aria-rowcount={count + 1}>
            <caption className="hidden">{label}</caption>
            <Head />
            <tbody>
              {Array.from({ length: rows }, (_, slot) => {
                const transaction = rowAt(first + slot)
                return (
                  // biome-ignore lint/suspicious/noArrayIndexKey: a row stays in its place, and shows another transaction
                  transaction && <Row key={slot} transaction={transaction} position={first + slot + 2} />
                )
              })}
            </tbody>
          </table>
        </div>
      </div>
    </section>
  )
}

/** Shown until the first rows of a `VirtualTable` arrive. */
export function PlaceholderTable() {
  return (
    <div className="scroller" aria-hidden="true">
      <div className="window">
        <table className="transactions">
          <Head />
          <Placeholders columns={columns} count={12} />
        </table>
      </div>
    </div>
  )
}

const columns = ['description', 'id', 'currency', 'amount']

function Head() {
  return (
    <thead>
      <tr aria-rowindex={1}>
        <th scope="col" className="description">
          Description
        </th>
        <th scope="col" className="id">
          Id
        </th>
        <th scope="col" className="currency">
          Currency
        </th>
        <th scope="col" className="amount">
          Amount
        </th>
      </tr>
    </thead>
  )
}

const Row = memo(({ transaction, position }: { transaction: Transaction; position?: number }) => {
  const { id, amount, currency, description } = transaction
  return (
    <tr aria-rowindex={position}>
      <td className="description" title={description}>
        {description}
      </td>
      <td className="id" title={id}>
        {id}
      </td>
      <td className="currency">{currency}</td>
      {/* A new cell for each transaction. The right-aligned text of a reused cell would move. */}
      <AmountCell key={id} value={amount} currency={currency} />
    </tr>
  )
})

interface AmountCellProps {
  /** `undefined` until loading ends. */
  readonly value: number | string | undefined
  readonly currency: string
  readonly className?: string
  readonly label?: string
}

/** One text, so a screen reader reads it as one number. */
export function AmountCell({ value, currency, className = '', label }: AmountCellProps) {
  return (
    <td className={`amount ${className}`} data-label={label}>
      {value === undefined ? '…' : money(value, currency)}
    </td>
  )
}

interface PlaceholdersProps {
  /** The CSS classes of each column. */
  readonly columns: readonly string[]
  readonly count: number
}

/** Placeholder rows, as many as expected. */
export function Placeholders({ columns, count }: PlaceholdersProps) {
  return (
    <tbody aria-hidden="true">
      {Array.from({ length: count }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same
        <tr key={index} className="placeholder">
          {columns.map(column => (
            <td key={column} className={column}>
              <span />
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  )
}
