import { useId } from 'react'
import { grouped } from './format.ts'
import { setFilter } from './route.ts'

interface FilterProps {
  readonly label: string
  readonly value: string
  /** How many rows match, or `undefined` for an empty filter. */
  readonly matching: number | undefined
  readonly count: number
  /** Not announced while the list grows, because that would be several times per second. */
  readonly isGrowing?: boolean
}

/** Filters the loaded items, because the API documents no filters. */
export function Filter({ label, value, matching, count, isGrowing = false }: FilterProps) {
  const id = useId()
  return (
    <div className="field filter">
      <label htmlFor={id}>{label}</label>
      <p className="muted steady" role={isGrowing ? undefined : 'status'}>
        {matching !== undefined && `${grouped(matching)} of ${grouped(count)}`}
      </p>
      <input
        id={id}
        type="search"
        placeholder="Any column"
        autoComplete="off"
        spellCheck={false}
        value={value}
        onChange={event => setFilter(event.target.value)}
      />
    </div>
  )
}

/** Shown when no row matches. */
export function NoMatch({ filter, what }: { filter: string; what: string }) {
  return (
    <div className="empty">
      <p>
        No {what} matches “<span className="wrap">{filter.trim()}</span>”.
      </p>
      <button type="button" data-next=".filter input" onClick={() => setFilter('')}>
        Clear the filter
      </button>
    </div>
  )
}
