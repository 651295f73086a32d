// @ts-check
// How every example writes numbers and times, in a terminal and on the page.

/**
 * 1234567.5 as 1,234,567.5. Nothing is rounded, not even text with more digits than a number holds.
 *
 * @param {number | string} value
 */
export function grouped(value) {
  const [whole = '', fraction] = String(value).split('.')
  const digits = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return fraction === undefined ? digits : `${digits}.${fraction}`
}

/**
 * 1 account, 2,000 accounts.
 *
 * @param {number} count
 * @param {string} noun
 */
export function counted(count, noun) {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`
}

/**
 * The text that completes two decimals, to align decimal points: `.00` after 17, `0` after 58.2.
 *
 * @param {string} amount
 */
export function missingDecimals(amount) {
  const [, fraction] = amount.split('.')
  return fraction === undefined ? '.00' : '0'.repeat(Math.max(0, 2 - fraction.length))
}

/**
 * 75 s, 3 min, 5 h, 12 days: an estimate, or a time to wait.
 *
 * @param {number} seconds
 */
export function duration(seconds) {
  if (seconds < 120) return `${Math.max(1, Math.round(seconds))} s`
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`
  return `${grouped(Math.round(seconds / 86_400))} days`
}

/**
 * 0.33 s, 20.8 s: a measured time.
 *
 * @param {number} seconds
 */
export function elapsed(seconds) {
  return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`
}

/**
 * `8,370 a second, 5 s left`. Nothing until a hundredth is done, because it would be a guess.
 *
 * @param {{ done: number, total: number, seconds: number, left?: number }} progress
 */
export function pace({ done, total, seconds, left = total - done }) {
  if (done === 0 || done * 100 < total) return ''
  const perSecond = done / seconds
  const parts = []
  if (perSecond >= 1) parts.push(`${grouped(Math.round(perSecond))} a second`)
  if (left > 0) parts.push(`${duration(left / perSecond)} left`)
  return parts.join(', ')
}
