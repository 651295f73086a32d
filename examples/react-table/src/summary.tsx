import { lazy, memo, Suspense, useState } from 'react'
import type { CurrencySum, Progress } from './collection.ts'
import { grouped } from './format.ts'
import { AmountCell, Placeholders } from './transaction-table.tsx'

// Loaded later, because Plot is a third of the page's code.
const AmountCharts = lazy(() => import('./amount-charts.tsx'))

/** Figures per currency, and the distribution of amounts in one. Currencies are not added up, because no rate is known. */
export const Summary = memo(({ progress: { state, sums, transactions, count } }: { progress: Progress }) => {
  const [chosen, setChosen] = useState<string>()
  const shown = sums.find(({ currency }) => currency === chosen) ?? sums[0]
  return (
    <section className="card padded" aria-labelledby="sums">
      <h2 id="sums">Per currency</h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: without it the keyboard could not scroll */}
      <section className="figures-box" aria-label="Figures per currency" tabIndex={0} aria-busy={count === 0}>
        <FiguresTable sums={sums} />
      </section>
      <div className="amounts">
        <label className="field">
          <span>Amounts in</span>
          <select disabled={!shown} value={shown?.currency} onChange={event => setChosen(event.target.value)}>
            {shown ? (
              sums.map(({ currency }) => <option key={currency}>{currency}</option>)
            ) : (
              <option>…</option>
            )}
          </select>
        </label>
        {state === 'loading' || !shown?.sorted ? (
          <WaitingCharts text="Shown when loading ends" />
        ) : (
          <Suspense fallback={<WaitingCharts text="Drawing…" />}>
            <AmountCharts
              currency={shown.currency}
              sorted={shown.sorted}
              transactions={transactions}
              count={count}
            />
          </Suspense>
        )}
      </div>
    </section>
  )
})

/** A placeholder of the same size until the charts are drawn. */
function WaitingCharts({ text }: { text: string }) {
  return (
    <div className="charts">
      {['Transactions by amount', 'Sum by position in the list'].map(caption => (
        <figure key={caption}>
          <figcaption>{caption}</figcaption>
          <p className="chart pending muted">{text}</p>
        </figure>
      ))}
    </div>
  )
}

const FiguresTable = memo(({ sums }: { sums: readonly CurrencySum[] }) => (
  <table className="figures sums">
    <caption className="hidden">Figures per currency</caption>
    <thead>
      <tr>
        <th scope="col">Currency</th>
        <th scope="col" className="amount count">
          Count
        </th>
        <th scope="col" className="amount">
          Sum
        </th>
        <th scope="col" className="amount median">
          Median
        </th>
        <th scope="col" className="amount percentile">
          95th percentile
        </th>
      </tr>
    </thead>
    {sums.length === 0 && (
      <Placeholders
        columns={['currency', 'amount count', 'amount', 'amount median', 'amount percentile']}
        count={7}
      />
    )}
    <tbody>
      {sums.map(({ currency, count, sum, sorted }) => (
        <tr key={currency}>
          <th scope="row">{currency}</th>
          <td className="amount count">{grouped(count)}</td>
          <AmountCell value={sum} currency={currency} />
          <AmountCell className="median" label="Median" value={percentile(sorted, 50)} currency={currency} />
          <AmountCell
            className="percentile"
            label="95 %"
            value={percentile(sorted, 95)}
            currency={currency}
          />
        </tr>
      ))}
    </tbody>
  </table>
))

/** By nearest rank. The result is one of the amounts, so nothing is rounded. */
function percentile(sorted: Float64Array | undefined, percent: number): number | undefined {
  return sorted?.[Math.ceil((sorted.length * percent) / 100) - 1]
}
