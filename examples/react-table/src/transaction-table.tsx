import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef } from 'react'
import type { Transaction } from 'virtual-accounts'
import { grouped } from './format.ts'
import { narrow, useMedia } from './media.ts'

interface TableProps {
  readonly label: string
  readonly transactions: readonly Transaction[]
}

/** One page of transactions, each as a row. */
export function PageTable({ label, transactions }: TableProps) {
  return (
    <table className="transactions">
      <caption className="hidden">{label}</caption>
      <Head />
      <tbody>
        {transactions.map(transaction => (
          <Row key={transaction.id} transaction={transaction} />
        ))}
      </tbody>
    </table>
  )
}

/** Any number of transactions. Only those in view are in the document, and two spacers stand for the rest. */
export function VirtualTable({ label, transactions }: TableProps) {
  const scroller = useRef<HTMLElement>(null)
  const rowHeight = useMedia(narrow) ? 64 : 44
  const virtualizer = useVirtualizer({
    count: transactions.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    useFlushSync: false,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the heights it remembers are of the other width
  useEffect(() => virtualizer.measure(), [virtualizer, rowHeight])

  const rows = virtualizer.getVirtualItems()
  const before = rows[0]?.start ?? 0
  const after = virtualizer.getTotalSize() - (rows.at(-1)?.end ?? 0)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it the keyboard could not scroll
    <section className="scroller" ref={scroller} tabIndex={0} aria-label={label}>
      <table className="transactions" aria-rowcount={transactions.length + 1}>
        <caption className="hidden">{label}</caption>
        <Head />
        <tbody>
          <Spacer height={before} />
          {rows.map(({ index }) => {
            const transaction = transactions[index]
            return transaction && <Row key={transaction.id} transaction={transaction} position={index + 2} />
          })}
          <Spacer height={after} />
        </tbody>
      </table>
    </section>
  )
}

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

function Row({ transaction, position }: { transaction: Transaction; position?: number }) {
  const { id, amount, currency, description } = transaction
  return (
    <tr aria-rowindex={position}>
      <td className="description">{description}</td>
      <td className="id">{id}</td>
      <td className="currency">{currency}</td>
      <td className="amount">
        <Amount value={amount} />
      </td>
    </tr>
  )
}

/** As the service gave it: how many decimals a currency has is not known here. The points stand below each other. */
export function Amount({ value }: { value: number | string }) {
  const [whole, fraction] = grouped(value).split('.')
  return (
    <>
      {whole}
      <span className="fraction">{fraction === undefined ? '' : `.${fraction}`}</span>
    </>
  )
}

function Spacer({ height }: { height: number }) {
  if (height <= 0) return null
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it can have the focus
    <tr className="spacer" aria-hidden="true">
      <td colSpan={4} style={{ height }} />
    </tr>
  )
}
