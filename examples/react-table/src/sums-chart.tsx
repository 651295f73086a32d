import * as Plot from '@observablehq/plot'
import { useEffect, useRef } from 'react'
import type { CurrencySum } from './collection.ts'
import { grouped } from './format.ts'

/** Counts as bars, which compare. Sums as points on a scale of magnitudes: no exchange rate is known. */
export default function SumsChart({ sums }: { sums: readonly CurrencySum[] }) {
  return (
    <div className="charts">
      <Chart caption="Transactions per currency" draw={width => countsPlot(sums, width)} />
      <Chart
        caption="Sum per currency, each in its own: a logarithmic scale, as no rates are known"
        draw={width => sumsPlot(sums, width)}
      />
    </div>
  )
}

function Chart({ caption, draw }: { caption: string; draw: (width: number) => Element }) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = place.current
    if (!element) return
    const observer = new ResizeObserver(() => {
      const plot = draw(element.clientWidth)
      plot.role = 'img'
      // Plot names each group of marks, which are no parts of an image to a screen reader.
      for (const marks of plot.querySelectorAll('[aria-label]')) marks.removeAttribute('aria-label')
      element.replaceChildren(plot)
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [draw])
  return (
    <figure>
      <figcaption>{caption}</figcaption>
      <div ref={place} />
    </figure>
  )
}

const common = {
  marginLeft: 44,
  marginTop: 8,
  style: { background: 'none', fontFamily: 'inherit', fontSize: '12px', overflow: 'visible' },
}

function countsPlot(sums: readonly CurrencySum[], width: number) {
  return Plot.plot({
    ...common,
    width,
    height: sums.length * 30 + 40,
    marginRight: 56,
    ariaLabel: 'Bars: transactions per currency',
    x: { label: null, ticks: 4, tickSize: 0, grid: true },
    y: { label: null, domain: sums.map(({ currency }) => currency), tickSize: 0 },
    marks: [
      Plot.barX(sums, {
        x: 'count',
        y: 'currency',
        fill: 'var(--accent)',
        rx2: 4,
        insetTop: 4,
        insetBottom: 4,
      }),
      Plot.text(sums, {
        x: 'count',
        y: 'currency',
        text: row => grouped(row.count),
        textAnchor: 'start',
        dx: 6,
      }),
      Plot.ruleX([0]),
    ],
  })
}

function sumsPlot(sums: readonly CurrencySum[], width: number) {
  const magnitude = (row: CurrencySum) => Number(row.sum)
  const ticks = powersOfTen(sums.map(magnitude))
  return Plot.plot({
    ...common,
    width,
    height: sums.length * 30 + 40,
    marginRight: 112,
    ariaLabel: 'Points: sum per currency, on a logarithmic scale',
    // A logarithm is of positive numbers alone; this one goes through zero.
    x: ticks
      ? {
          label: null,
          type: 'log',
          domain: [ticks[0], ticks.at(-1)],
          ticks,
          tickFormat: compact.format,
          tickSize: 0,
          grid: true,
        }
      : { label: null, type: 'symlog', ticks: 3, tickFormat: compact.format, tickSize: 0, grid: true },
    y: { label: null, domain: sums.map(({ currency }) => currency), tickSize: 0 },
    marks: [
      Plot.dot(sums, { x: magnitude, y: 'currency', fill: 'var(--accent)', r: 6 }),
      Plot.text(sums, {
        x: magnitude,
        y: 'currency',
        text: row => grouped(row.sum),
        textAnchor: 'start',
        dx: 12,
      }),
    ],
  })
}

const compact = new Intl.NumberFormat('en', { notation: 'compact' })

/** Those around all values; none where one is not positive. */
function powersOfTen(values: readonly number[]): number[] | undefined {
  const first = Math.floor(Math.log10(Math.min(...values)))
  const last = Math.ceil(Math.log10(Math.max(...values)))
  if (!Number.isFinite(first)) return undefined
  return Array.from({ length: Math.max(last - first, 1) + 1 }, (_, index) => 10 ** (first + index))
}
