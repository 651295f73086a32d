// @ts-check

const decimal = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3}))?$/i

/**
 * Adds amounts as the decimals they are written as: 0.1 + 0.2 is 0.3.
 *
 * A JavaScript number is binary, so adding amounts as numbers drifts by a cent sooner or later. But the
 * number that JSON's `0.1` became is written `0.1` again by `String`, so the decimal is still there: this
 * takes it apart into an integer and a count of decimals, and adds integers, however long.
 *
 * @example
 * new DecimalSum().add(0.1).add(0.2).toString()   // '0.3'
 */
export class DecimalSum {
  #units = 0n
  #decimals = 0

  /**
   * @param {number | string} amount a finite number, or a decimal as text: '12345678901234567890.12'
   * @returns {this}
   */
  add(amount) {
    const match = decimal.exec(String(amount))
    if (!match) throw new TypeError(`expected a decimal, got ${String(amount).slice(0, 40)}`)
    const [, sign = '', whole = '', fraction = '', exponent = '0'] = match
    let units = BigInt(sign + whole + fraction)
    // 1.5e-7 is 15 with 8 decimals; 1e21 is 1 with -21 of them, so 1 and 21 zeros with none.
    let decimals = fraction.length - Number(exponent)
    if (decimals < 0) {
      units *= 10n ** BigInt(-decimals)
      decimals = 0
    }
    const common = Math.max(decimals, this.#decimals)
    this.#units =
      this.#units * 10n ** BigInt(common - this.#decimals) + units * 10n ** BigInt(common - decimals)
    this.#decimals = common
    return this
  }

  /** With as many decimals as the amount that had most: 0.25 + 0.75 is '1.00'. */
  toString() {
    const sign = this.#units < 0n ? '-' : ''
    const digits = String(this.#units < 0n ? -this.#units : this.#units).padStart(this.#decimals + 1, '0')
    const point = digits.length - this.#decimals
    return sign + digits.slice(0, point) + (this.#decimals > 0 ? `.${digits.slice(point)}` : '')
  }
}
