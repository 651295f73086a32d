import { type CSSProperties, memo, useLayoutEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import type { Transaction } from 'virtual-accounts'
import { money } from './format.ts'
import { narrow, useMedia } from './media.ts'

interface PageTableProps {
  readonly label: string
  /** `undefined`: not loaded yet. */
  readonly transactions: readonly Transaction[] | undefined
  /** How many rows to show until it is loaded. */
  readonly placeholders: number
}

/** One page of transactions. The placeholders are as tall as its rows, so that nothing moves when those arrive. */
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
  /** Where it is scrolled to, and was when it was last shown. */
  readonly place: { scrollTop: number }
}

/**
 * Any number of transactions, of which only those in view are in the document.
 *
 * The browser scrolls before the scroll event is handled, and would show a gap where rows are not rendered yet. So the
 * rows do not scroll: they are in a box that sticks to the visible part, rendered at the offset that was scrolled to. On a
 * slow machine they may be late, but they are never blank. Each row is reused for another transaction, which is cheaper
 * than a new one.
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
    // Rendered before the browser paints what it has scrolled to.
    const onScroll = () => flushSync(look)
    const observer = new ResizeObserver(look)
    observer.observe(element)
    element.addEventListener('scroll', onScroll)
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', onScroll)
    }
  }, [place])

  // All rows are equally tall, so no row has to be measured to know which are in view.
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
      {/* A cell of its own for each transaction: one that is reused would move its text, as that ends at the right. */}
      <AmountCell key={id} value={amount} currency={currency} />
    </tr>
  )
})

interface AmountCellProps {
  /** `undefined`: known when loading ends. */
  readonly value: number | string | undefined
  readonly currency: string
  readonly className?: string
  readonly label?: string
}

/** One text, so that it is read as one number. */
export function AmountCell({ value, currency, className = '', label }: AmountCellProps) {
  return (
    <td className={`amount ${className}`} data-label={label}>
      {value === undefined ? '…' : money(value, currency)}
    </td>
  )
}

interface PlaceholdersProps {
  /** The classes of each. */
  readonly columns: readonly string[]
  readonly count: number
}

/** As many rows as there will be, or might be. */
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
