/** Random choices that a seed determines. */
export class Random {
  #state: number

  constructor(seed: string) {
    // FNV-1a: seeds that differ in one character give unrelated choices.
    let hash = 0x811c9dc5
    for (const character of seed) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193)
    this.#state = hash >>> 0
  }

  /** From 0 to 1, 1 excluded (mulberry32). */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** Both ends included. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1))
  }

  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  pick<T>(values: readonly T[]): T {
    return values[this.integer(0, values.length - 1)] as T
  }

  times<T>(count: number, create: () => T): T[] {
    return Array.from({ length: count }, create)
  }
}
