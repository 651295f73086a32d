// Formats of numbers and times.

/** By their minimum number of decimals. */
const formats: Intl.NumberFormat[] = []
const decimals = new Map<string, number>()
const dateAndTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
const timeAlone = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })

/** 1234567.5 as 1,234,567.5. Nothing is rounded, not even text with more digits than a number holds. */
export function grouped(value: number | string, minimumFractionDigits = 0): string {
  const options = { minimumFractionDigits, maximumFractionDigits: 100 }
  formats[minimumFractionDigits] ??= new Intl.NumberFormat('en', options)
  return formats[minimumFractionDigits].format(value as number)
}

/**
 * An amount with the decimals of its currency, and never fewer digits than were sent: 58.2 EUR as 58.20, 463 JPY as 463,
 * 1.234 EUR unchanged. An amount may be a string of digits. Text that is not a plain decimal is unchanged.
 */
export function money(amount: number | string, currency: string): string {
  const text = String(amount)
  const [isDecimal, sent = ''] = /^-?\d+(?:\.(\d{1,100}))?$/.exec(text) ?? []
  return isDecimal ? grouped(text, Math.max(sent.length, decimalsOf(currency))) : text
}

/** 0 for JPY, 2 for EUR, 3 for KWD, 0 for an invalid currency code. */
function decimalsOf(currency: string): number {
  if (!/^[a-z]{3}$/i.test(currency)) return 0
  let count = decimals.get(currency)
  if (count === undefined) {
    const format = new Intl.NumberFormat('en', { style: 'currency', currency })
    count = format.resolvedOptions().maximumFractionDigits ?? 0
    decimals.set(currency, count)
  }
  return count
}

/** 1 account, 2,000 accounts. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** An estimate or a delay, such as 75 s, 3 min or 5 h. */
export function duration(seconds: number): string {
  if (seconds < 120) return `${Math.max(1, Math.round(seconds))} s`
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`
  return `${grouped(Math.round(seconds / 3600))} h`
}

/** The end of a delay, such as 15:04:05, with the date if that is another day. */
export function timeOfDay(date: number): string {
  const isToday = new Date(date).toDateString() === new Date().toDateString()
  return isToday ? timeAlone.format(date) : dateTime(date)
}

/** 21 Nov 2026, 15:04:05, on one line. Without the date, yesterday's time would look like today's. */
export function dateTime(date: number): string {
  return dateAndTime.format(date).replaceAll(' ', '\u00a0')
}
