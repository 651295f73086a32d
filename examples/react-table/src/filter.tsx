import { setFilter } from './route.ts'

/** Filters what is loaded: the interface specifies no filters for lists. */
export function Filter({ label, value }: { label: string; value: string }) {
  return (
    <label className="field filter">
      <span>{label}</span>
      <input
        type="search"
        placeholder="Any column"
        autoComplete="off"
        spellCheck={false}
        value={value}
        onChange={event => setFilter(event.target.value)}
      />
    </label>
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
