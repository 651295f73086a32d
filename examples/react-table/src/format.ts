/** 1234567.5 as 1,234,567.5. Of text too, which may hold more digits than a number. Nothing is rounded. */
export function grouped(value: number | string): string {
  const [whole = '', fraction] = String(value).split('.')
  const digits = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return fraction === undefined ? digits : `${digits}.${fraction}`
}

/** 75 as 1 min 15 s. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds))
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`
}

export function clockTime(date: number): string {
  return new Date(date).toLocaleTimeString('en-GB')
}
