import { useEffect, useRef, useState } from 'react'
import { explain } from './explain.ts'
import { useKeepFocus } from './focus.ts'
import { clockTime, duration } from './format.ts'

interface ProblemProps {
  readonly error: unknown
  /** When it happened. */
  readonly at: number
  readonly busy?: boolean
  readonly action: string
  readonly onAction: () => void
}

/** What went wrong, what to do, and the way on. */
export function Problem({ error, at, busy = false, action, onAction }: ProblemProps) {
  const { title, advice, waitMs = 0, details } = explain(error)
  const left = useSecondsUntil(at + waitMs)
  const enabled = left === 0 && !busy
  const box = useRef<HTMLDivElement>(null)
  useKeepFocus(box)
  return (
    <div className="problem" ref={box}>
      <div role="alert">
        <h2>{title}</h2>
        <p>{advice}</p>
        {waitMs > 0 && (
          <p>
            It asks to wait {duration(waitMs / 1000)}, until {clockTime(at + waitMs)}.
          </p>
        )}
      </div>
      <div className="actions">
        <button
          type="button"
          className="primary"
          aria-disabled={!enabled}
          onClick={() => enabled && onAction()}
        >
          {busy ? 'Trying…' : action}
        </button>
        {left > 0 && <span className="muted">in {duration(left)}</span>}
      </div>
      <details>
        <summary>Details</summary>
        <p className="mono">{details}</p>
      </details>
    </div>
  )
}

function useSecondsUntil(time: number): number {
  const [now, setNow] = useState(Date.now)
  const left = Math.max(0, (time - now) / 1000)
  useEffect(() => {
    if (time <= Date.now()) return
    const timer = setInterval(() => {
      setNow(Date.now())
      if (Date.now() >= time) clearInterval(timer)
    }, 500)
    return () => clearInterval(timer)
  }, [time])
  return left
}
