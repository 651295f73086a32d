import { useLayoutEffect, useState } from 'react'
import type { ActivityLog } from './activity.ts'
import { duration } from './format.ts'
import { useStore } from './store.ts'

/** Shows what the page waits for, once it takes long: a response, or the client's next attempt. */
export function Waiting({ activity }: { activity: ActivityLog }) {
  const { waiting } = useStore(activity.store)
  const [now, setNow] = useState(Date.now)
  const isWaiting = waiting !== undefined
  // Before the paint, or the first number shown would be too high.
  useLayoutEffect(() => {
    if (!isWaiting) return
    setNow(Date.now())
    const timer = setInterval(() => setNow(Date.now()), 250)
    return () => clearInterval(timer)
  }, [isWaiting])

  let text = ''
  let time = ''
  if (waiting?.retry) {
    text = `${waiting.retry.reason}: the client retries`
    time = `in ${duration(Math.max(0, waiting.retry.at - now) / 1000)}`
  } else if (waiting && now - waiting.since > 1000) {
    text = 'Waiting for the service'
    time = duration((now - waiting.since) / 1000)
  }
  return (
    <div className="pill" data-shown={text !== ''}>
      <span role="status" aria-label="What the client waits for">
        {text}
      </span>{' '}
      {/* Not announced every second. */}
      <span className="steady">{time}</span>
    </div>
  )
}
