import { type FormEvent, useState } from 'react'
import { grouped } from './format.ts'

interface PagerProps {
  readonly page: number
  /** `undefined` until a page is loaded. */
  readonly pageCount: number | undefined
  readonly busy: boolean
  readonly onTurn: (page: number) => void
}

export function Pager({ page, pageCount, busy, onTurn }: PagerProps) {
  const [typed, setTyped] = useState<string>()
  const hasNext = pageCount !== undefined && page < pageCount

  const restore = () => setTyped(undefined)

  function submit(event: FormEvent) {
    event.preventDefault()
    // The browser submits only text that matches the pattern.
    const wanted = Number(typed ?? page)
    restore()
    onTurn(Math.min(wanted, pageCount || wanted))
  }
  return (
    <nav className="pager" aria-label="Pages" aria-busy={busy}>
      <PageButton label="First page" sign="«" enabled={page > 1} onClick={() => onTurn(1)} />
      <PageButton label="Previous page" sign="‹" enabled={page > 1} onClick={() => onTurn(page - 1)} />
      <form onSubmit={submit}>
        <label>
          <span>Page </span>
          <input
            required
            pattern="0*[1-9][0-9]*"
            title="A whole number, at least 1"
            maxLength={9}
            inputMode="numeric"
            autoComplete="off"
            value={typed ?? page}
            onChange={event => setTyped(event.target.value)}
            onKeyDown={event => event.key === 'Escape' && restore()}
            onBlur={restore}
          />
        </label>
        <span className="muted of">of {pageCount === undefined ? '…' : grouped(pageCount)}</span>
      </form>
      <PageButton label="Next page" sign="›" enabled={hasNext} onClick={() => onTurn(page + 1)} />
      <PageButton label="Last page" sign="»" enabled={hasNext} onClick={() => onTurn(pageCount ?? page)} />
    </nav>
  )
}

interface PageButtonProps {
  readonly label: string
  readonly sign: string
  readonly enabled: boolean
  readonly onClick: () => void
}

/** Stays focusable at the end of the list. If it were disabled, keyboard users would lose their place. */
function PageButton({ label, sign, enabled, onClick }: PageButtonProps) {
  return (
    <button
      type="button"
      className="icon"
      aria-label={label}
      title={label}
      aria-disabled={!enabled}
      onClick={() => enabled && onClick()}
    >
      <span aria-hidden="true">{sign}</span>
    </button>
  )
}
