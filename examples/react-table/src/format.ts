/** 1234567.5 as 1,234,567.5. Also for text, which may have more digits than a number. Nothing is rounded. */
export function grouped(value: number | string): string {
  const [whole = '', fraction] = String(value).split('.')
  const digits = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return fraction === undefined ? digits : `${digits}.${fraction}`
}

/** 1 transaction, 2,000 transactions. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** 75 as 1 min 15 s. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds))
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`
}

const dateAndTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

/** 21 Nov 2026, 15:04:05: yesterday's time alone would look like today's. */
export function dateTime(date: number): string {
  return dateAndTime.format(date)
}
