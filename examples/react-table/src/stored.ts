/**
 * JSON values in `localStorage`, one entry each. An array in a single entry would be written as a whole, and a tab that
 * read it earlier would erase what another tab has added since.
 */
export class StoredEntries<T> {
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  all(): T[] {
    try {
      return Object.keys(localStorage)
        .filter(key => key.startsWith(this.#prefix))
        .flatMap(key => parsed<T>(localStorage.getItem(key)))
    } catch {
      // Storage is blocked: nothing was saved either.
      return []
    }
  }

  has(name: string): boolean {
    return localStorage.getItem(this.#prefix + name) !== null
  }

  /** @throws DOMException when storage is full or blocked. */
  save(name: string, value: T) {
    localStorage.setItem(this.#prefix + name, JSON.stringify(value))
  }

  remove(name: string) {
    localStorage.removeItem(this.#prefix + name)
  }

  /** Calls the listener after another tab has changed an entry. */
  onChangeElsewhere(listener: () => void) {
    addEventListener('storage', ({ key }) => {
      // No key: the other tab has cleared everything.
      if (key === null || key.startsWith(this.#prefix)) listener()
    })
  }
}

function parsed<T>(json: string | null): T[] {
  try {
    const value: unknown = JSON.parse(json ?? '')
    return typeof value === 'object' && value !== null ? [value as T] : []
  } catch {
    return []
  }
}
