import { useSyncExternalStore } from 'react'

export const views = ['transactions', 'everything', 'accounts'] as const
export type View = (typeof views)[number]

export const pageSizes = [10, 25, 50, 100]

export interface Route {
  readonly view: View
  readonly page: number
  readonly limit: number
}

/** Where the page is stands in its address, so that a reload, a link and the back button work. */
export function useRoute(): Route {
  const hash = useSyncExternalStore(subscribe, () => location.hash)
  const [name, query] = hash.slice(1).split('?')
  const parameters = new URLSearchParams(query)
  const limit = Number(parameters.get('limit'))
  return {
    view: views.find(view => view === name) ?? 'transactions',
    page: Math.max(1, Math.trunc(Number(parameters.get('page'))) || 1),
    limit: pageSizes.includes(limit) ? limit : 25,
  }
}

export function goTo({ view, page, limit }: Route) {
  location.hash = `${view}?page=${page}&limit=${limit}`
  // The browser tells of it later: a second press would still count from the page before.
  dispatchEvent(new Event('hashchange'))
}

function subscribe(listener: () => void) {
  addEventListener('hashchange', listener)
  return () => removeEventListener('hashchange', listener)
}
