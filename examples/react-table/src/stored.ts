/**
 * JSON values in `localStorage`, one entry each. If one entry held an array, a tab that read it earlier would erase the
 * values that another tab has added since.
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
      // Storage is blocked, so nothing was saved either.
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
      // Without a key, the other tab has cleared everything.
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
