/** Time goes on by so much with each request, however fast responses come: lists may change with each. */
export const msPerRequest = 3

/**
 * How fast items move towards the beginning of their list, as others in front of them are removed. What is requested now shows the list a
 * little later, so a window begins where the last item will be, not where it was.
 *
 * A window that is requested together with the one in front of it shows the list as that does; one that had to wait, a round trip later.
 */
export class Drift {
  /** By how many items the list has moved of late, and in which time. */
  #moved = 0
  #time = 0
  /** How far in front of the expected place a window begins, as lists move unevenly. */
  #margin = 1

  /** Notes how far the last item has moved. */
  learn(moved: number, time: number, limit: number): void {
    const needed = 1 + moved - this.expect(time)
    this.#margin = Math.max(1, 0.9 * this.#margin, Math.min(needed, limit / 2))
    if (time === 0) return
    // A response can be older than the one before it. The past counts less as time passes, and not where responses come together. A
    // part of the list that is removed at once is no drift.
    const past = this.#time / (this.#time + Math.abs(time))
    const most = (Math.abs(time) / msPerRequest) * (limit / 2)
    this.#moved = past * this.#moved + Math.max(-most, Math.min(moved * Math.sign(time), most))
    this.#time = past * this.#time + Math.abs(time)
  }

  /** How far before the expected place of the last item a window begins. */
  get margin(): number {
    return Math.round(this.#margin)
  }

  /** By how many items the list moves in so much time. */
  expect(time: number): number {
    return this.#time > 0 ? Math.round(Math.max(0, this.#moved / this.#time) * time) : 0
  }
}
