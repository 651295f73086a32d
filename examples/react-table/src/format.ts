// The other examples write numbers and times in the same way.
export { counted, duration, elapsed, grouped, missingDecimals, pace } from '../../format.js'

const dateAndTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

/** 21 Nov 2026, 15:04:05: yesterday's time alone would look like today's. */
export function dateTime(date: number): string {
  return dateAndTime.format(date)
}
