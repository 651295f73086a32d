import * as Plot from '@observablehq/plot'
import { useEffect, useMemo, useRef } from 'react'
import type { Transaction } from 'virtual-accounts'
import { grouped } from './format.ts'

interface AmountChartsProps {
  readonly currency: string
  /** Every amount in this currency, smallest first. */
  readonly sorted: Float64Array
  /** Transactions of all currencies, in list order. The first `count` are loaded. */
  readonly transactions: readonly Transaction[]
  readonly count: number
}

/** The sizes of the amounts in one currency, and their places in the list. */
export default function AmountCharts({ currency, sorted, transactions, count }: AmountChartsProps) {
  const sizes = useMemo(() => sizesOf(sorted), [sorted])
  const stretches = useMemo(() => stretchesOf(transactions, count, currency), [transactions, count, currency])
  return (
    <div className="charts">
      <Chart
        caption={`Transactions by amount, in ${currency}`}
        label={`Bar chart: number of transactions per range of amounts, in ${currency}: ${sizes
          .map(({ name, count }) => `${name.replace('–', ' to ')}: ${grouped(count)}`)
          .join('; ')}`}
        options={useMemo(() => sizesPlot(sizes), [sizes])}
      />
      <Chart
        caption={`Sum per ${grouped(Math.ceil(count / stretches.length))} transactions, in ${currency}`}
        label={`Bar chart: sum in ${currency} by position in the list: ${stretches
          .map(({ sum }) => compact.format(sum))
          .join('; ')}`}
        options={useMemo(() => stretchesPlot(stretches), [stretches])}
      />
    </div>
  )
}

interface Size {
  readonly name: string
  readonly count: number
}

/** Each range ends at ten times its start. With equal ranges, nearly all amounts would be in the first. */
function sizesOf(sorted: Float64Array): Size[] {
  const below = (limit: number) => lowerBound(sorted, limit)
  const largest = sorted.at(-1) ?? 0
  const sizes: Size[] = []
  if (below(0) > 0) sizes.push({ name: 'below 0', count: below(0) })
  let start = 0
  for (let end = 1; start <= largest; end *= 10) {
    sizes.push({ name: `${compact.format(start)}–${compact.format(end)}`, count: below(end) - below(start) })
    start = end
  }
  return sizes
}

/** How many amounts are smaller than the limit, by binary search. */
function lowerBound(sorted: Float64Array, limit: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) < limit) low = middle + 1
    else high = middle
  }
  return low
}

interface Stretch {
  readonly first: number
  readonly last: number
  readonly sum: number
}

/** Sums of equal parts of the list. Plain numbers are exact enough to draw. */
function stretchesOf(transactions: readonly Transaction[], count: number, currency: string): Stretch[] {
  const parts = Math.min(40, count)
  const sums = new Float64Array(parts)
  for (let index = 0; index < count; index++) {
    const transaction = transactions[index]
    if (transaction?.currency !== currency) continue
    const part = Math.floor((index * parts) / count)
    sums[part] = (sums[part] ?? 0) + transaction.amount
  }
  const edge = (part: number) => Math.ceil((part * count) / parts)
  return Array.from(sums, (sum, part) => ({ first: edge(part), last: edge(part + 1), sum }))
}

function sizesPlot(sizes: readonly Size[]): Plot.PlotOptions {
  return {
    marginLeft: 84,
    marginRight: 56,
    marginTop: 0,
    marginBottom: 0,
    x: { axis: null },
    y: { label: null, domain: sizes.map(({ name }) => name), tickSize: 0, padding: 0 },
    marks: [
      Plot.barX(sizes, { x: 'count', y: 'name', fill: 'var(--accent)', rx2: 3, insetTop: 5, insetBottom: 5 }),
      Plot.text(sizes, {
        x: 'count',
        y: 'name',
        text: size => grouped(size.count),
        textAnchor: 'start',
        dx: 6,
      }),
    ],
  }
}

function stretchesPlot(stretches: readonly Stretch[]): Plot.PlotOptions {
  return {
    marginLeft: 48,
    marginTop: 10,
    marginBottom: 40,
    x: {
      label: 'Position in the list',
      labelArrow: 'none',
      labelAnchor: 'right',
      ticks: 3,
      tickSize: 0,
      tickFormat: compact.format,
    },
    y: { label: null, ticks: 4, tickSize: 0, grid: true, tickFormat: compact.format },
    marks: [
      Plot.rectY(stretches, {
        x1: 'first',
        x2: 'last',
        y: 'sum',
        fill: 'var(--accent)',
        insetLeft: 1,
        ry2: 2,
        // Shown when the mouse rests on the bar.
        title: ({ first, last, sum }: Stretch) =>
          `${grouped(first + 1)} to ${grouped(last)}: ${compact.format(sum)}`,
      }),
      Plot.ruleY([0]),
    ],
  }
}

const compact = new Intl.NumberFormat('en', { notation: 'compact' })

/** Drawn at the available width. Its height is constant, so nothing below it moves. */
function Chart({ caption, label, options }: { caption: string; label: string; options: Plot.PlotOptions }) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = place.current
    if (!element) return
    const observer = new ResizeObserver(() => {
      const plot = Plot.plot({
        ...options,
        width: element.clientWidth,
        height: element.clientHeight,
        style: { background: 'none', fontFamily: 'inherit', fontSize: '12px', overflow: 'visible' },
        ariaLabel: label,
      })
      plot.role = 'img'
      // Plot labels each group of marks. A screen reader would not treat these as parts of an image.
      for (const marks of plot.querySelectorAll('[aria-label]')) marks.removeAttribute('aria-label')
      element.replaceChildren(plot)
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [label, options])
  return (
    <figure>
      <figcaption>{caption}</figcaption>
      <div className="chart" ref={place} />
    </figure>
  )
}
