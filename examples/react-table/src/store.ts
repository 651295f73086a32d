import { useSyncExternalStore } from 'react'

/** A value outside of React that components can subscribe to. */
export class Store<T> {
  #value: T
  readonly #listeners = new Set<() => void>()

  constructor(value: T) {
    this.#value = value
  }

  readonly get = (): T => this.#value

  set(value: T) {
    this.#value = value
    for (const listener of this.#listeners) listener()
  }

  readonly subscribe = (listener: () => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

export function useStore<T>(store: Store<T>): T {
  return useSyncExternalStore(store.subscribe, store.get)
}
