// How the page writes numbers and times.

const plain = new Intl.NumberFormat('en', { maximumFractionDigits: 20 })
const dateAndTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
const timeAlone = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })

/** 1234567.5 as 1,234,567.5. Nothing is rounded, also not text that has more digits than a number holds. */
export function grouped(value: number | string): string {
  return plain.format(value as number)
}

/** 1 account, 2,000 accounts. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** What is missing to two decimals, so that decimal points are below each other: `.00` after 17, `0` after 58.2. */
export function missingDecimals(amount: string): string {
  const [, fraction] = amount.split('.')
  return fraction === undefined ? '.00' : '0'.repeat(Math.max(0, 2 - fraction.length))
}

/** 75 s, 3 min, 5 h: an estimate, or a time to wait. */
export function duration(seconds: number): string {
  if (seconds < 120) return `${Math.max(1, Math.round(seconds))} s`
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`
  return `${grouped(Math.round(seconds / 3600))} h`
}

/** 15:04:05, with the date if that is another day: a time to wait until. */
export function timeOfDay(date: number): string {
  const isToday = new Date(date).toDateString() === new Date().toDateString()
  return isToday ? timeAlone.format(date) : dateTime(date)
}

/** 21 Nov 2026, 15:04:05, never on two lines: yesterday's time alone would look like today's. */
export function dateTime(date: number): string {
  return dateAndTime.format(date).replaceAll(' ', '\u00a0')
}
