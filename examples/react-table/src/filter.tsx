import type { Transaction } from 'virtual-accounts'

/** Of what is loaded: the service's lists have no filter that is specified. */
export function filtered(transactions: readonly Transaction[], wanted: string): readonly Transaction[] {
  const text = wanted.trim().toLowerCase()
  if (text === '') return transactions
  return transactions.filter(
    ({ id, amount, currency, description }) =>
      description.toLowerCase().includes(text) ||
      currency.toLowerCase().includes(text) ||
      id.includes(text) ||
      String(amount).includes(text),
  )
}

interface FilterProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
}

export function Filter({ label, value, onChange }: FilterProps) {
  return (
    <label className="field filter">
      <span>{label}</span>
      <input
        type="search"
        placeholder="Any column"
        value={value}
        onChange={event => onChange(event.target.value)}
      />
    </label>
  )
}
