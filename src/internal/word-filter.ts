interface Node {
  readonly next: Map<string, Node>
  /** Where the search goes on if the text goes on otherwise. */
  otherwise: Node | undefined
  /** Of the longest word that ends here; 0 for none. */
  length: number
}

const createNode = (): Node => ({ next: new Map(), otherwise: undefined, length: 0 })

/** Replaces words in one pass over a text (Aho–Corasick): how often they repeat themselves does not matter. */
export class WordFilter {
  readonly #root = createNode()
  /** Of all words. Most texts contain none: that is quickly seen. */
  readonly #beginnings: ReadonlySet<string>

  constructor(words: readonly string[]) {
    this.#beginnings = new Set(words.map(word => word.slice(0, 8)))
    for (const word of words) {
      let node = this.#root
      for (const unit of word.split('')) {
        const next = node.next.get(unit) ?? createNode()
        node.next.set(unit, next)
        node = next
      }
      node.length = word.length
    }
    const nodes = [this.#root]
    for (const node of nodes) {
      for (const [unit, next] of node.next) {
        next.otherwise = node === this.#root ? node : this.#step(node.otherwise as Node, unit)
        next.length ||= next.otherwise.length
        nodes.push(next)
      }
    }
  }

  /** Words that overlap are replaced together. */
  replace(text: string, replacement: string): string {
    if (![...this.#beginnings].some(beginning => text.includes(beginning))) return text
    const found: { start: number; end: number }[] = []
    let node = this.#root
    for (let end = 1; end <= text.length; end++) {
      node = this.#step(node, text.charAt(end - 1))
      if (node.length === 0) continue
      let start = end - node.length
      for (let last = found.at(-1); last && last.end > start; last = found.at(-1)) {
        start = Math.min(start, last.start)
        found.pop()
      }
      found.push({ start, end })
    }
    let result = ''
    let shown = 0
    for (const { start, end } of found) {
      result += text.slice(shown, start) + replacement
      shown = end
    }
    return result + text.slice(shown)
  }

  #step(from: Node, unit: string): Node {
    for (let node: Node | undefined = from; node; node = node.otherwise) {
      const next = node.next.get(unit)
      if (next) return next
    }
    return this.#root
  }
}
