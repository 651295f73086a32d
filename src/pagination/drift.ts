/** The clock advances by this much per request, even if responses are instant. A list may change with each request. */
export const msPerRequest = 3

/**
 * How fast items move towards the beginning of their list while others before them are removed, or away from it while others are
 * added. A response shows the list as it is a little later than its request. So a window begins where the last item will be, not
 * where it was.
 */
export class Drift {
  /** How many items the list has moved recently, and in how much time. */
  #moved = 0
  #time = 0
  /** How far before the expected place a window begins, because lists move unevenly. */
  #margin = 1

  /** Records how far the last item has moved. */
  learn(moved: number, time: number, limit: number): void {
    const needed = 1 + moved - this.expect(time)
    this.#margin = Math.max(1, 0.9 * this.#margin, Math.min(needed, limit / 2))
    if (time === 0) return
    // Recent moves count most. `time` is negative for an older response. `most` limits a bulk removal.
    const past = this.#time / (this.#time + Math.abs(time))
    const most = (Math.abs(time) / msPerRequest) * (limit / 2)
    this.#moved = past * this.#moved + Math.max(-most, Math.min(moved * Math.sign(time), most))
    this.#time = past * this.#time + Math.abs(time)
  }

  /** How far before the expected place of the last item a window begins. */
  get margin(): number {
    return Math.round(this.#margin)
  }

  /** How many items the list is expected to move towards its beginning in the given time. */
  expect(time: number): number {
    if (this.#time === 0) return 0
    const moved = (this.#moved / this.#time) * time
    // A window too early shows items again. One too late misses the last item. So it expects only half of a growth, and
    // ignores a small one.
    return Math.round(moved > 0 ? moved : Math.min(0, moved / 2 + 2))
  }
}
