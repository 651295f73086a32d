import { type ReactNode, useLayoutEffect, useRef, useState } from 'react'
import { explain } from './explain.ts'
import { useReveal } from './focus.ts'
import { duration, timeOfDay } from './format.ts'

interface ProblemProps {
  readonly error: unknown
  /** When it happened. */
  readonly at: number
  readonly busy?: boolean
  readonly action: string
  readonly onAction: () => void
  /** More specific than the title of the error. */
  readonly title?: string
  /** What the failure means here. */
  readonly children?: ReactNode
  /** Further buttons. */
  readonly more?: ReactNode
}

/** A failure, the advice, and a button to follow it. */
export function Problem({ error, at, busy = false, action, onAction, title, children, more }: ProblemProps) {
  const explanation = explain(error)
  const { advice, waitMs = 0, details, isRetryable, isFinal = false } = explanation
  const box = useRef<HTMLDivElement>(null)
  useReveal(box, at)
  return (
    <div className="problem" ref={box}>
      <div role="alert">
        <h2>{title ?? explanation.title}</h2>
        <p>
          {title && `${explanation.title}. `}
          {advice}
        </p>
        {waitMs > 0 && <p>The service asks you to wait until {timeOfDay(at + waitMs)}.</p>}
        {children}
      </div>
      {!isFinal && (
        <div className="actions">
          <RetryButton
            notBefore={at + waitMs}
            busy={busy}
            className={isRetryable ? 'primary' : undefined}
            onClick={onAction}
          >
            {action}
          </RetryButton>
          {more}
        </div>
      )}
      <Details>{details}</Details>
    </div>
  )
}

interface RetryButtonProps {
  /** When the service accepts requests again. */
  readonly notBefore: number
  readonly busy?: boolean
  readonly id?: string
  readonly className: string | undefined
  readonly onClick: () => void
  readonly children: string
}

/**
 * Disabled for the delay that the service asks for, but focusable. It ignores the second click of a double click, which was
 * meant for the button that it replaced.
 */
export function RetryButton({ notBefore, busy = false, onClick, children, ...given }: RetryButtonProps) {
  const left = useSecondsUntil(notBefore)
  const enabled = left === 0 && !busy
  return (
    <>
      <button
        type="button"
        {...given}
        aria-disabled={!enabled}
        onClick={({ detail }) => enabled && detail < 2 && onClick()}
      >
        {busy ? 'Trying…' : children}
      </button>
      {left > 0 && <span className="muted steady countdown">in {duration(left)}</span>}
    </>
  )
}

/** For whoever investigates it. */
export function Details({ children }: { children: ReactNode }) {
  return (
    <details>
      <summary>Details</summary>
      <p className="mono">{children}</p>
    </details>
  )
}

export function useSecondsUntil(time: number): number {
  const [now, setNow] = useState(Date.now)
  const left = Math.max(0, (time - now) / 1000)
  // Before the paint, or the first number shown would be too high.
  useLayoutEffect(() => {
    setNow(Date.now())
    if (time <= Date.now()) return
    const timer = setInterval(() => {
      setNow(Date.now())
      if (Date.now() >= time) clearInterval(timer)
    }, 500)
    return () => clearInterval(timer)
  }, [time])
  return left
}
