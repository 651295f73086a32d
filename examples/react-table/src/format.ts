// The other examples write numbers and times in the same way.
export { counted, duration, elapsed, grouped, missingDecimals, pace } from '../../format.js'

const dateAndTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
const timeAlone = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })

/** 15:04:05, with the date if that is another day: a time to wait until. */
export function timeOfDay(date: number): string {
  const isToday = new Date(date).toDateString() === new Date().toDateString()
  return isToday ? timeAlone.format(date) : dateTime(date)
}

/** 21 Nov 2026, 15:04:05, never on two lines: yesterday's time alone would look like today's. */
export function dateTime(date: number): string {
  return dateAndTime.format(date).replaceAll(' ', '\u00a0')
}
