import { Store, useStore } from './store.ts'

export const views = ['transactions', 'everything', 'accounts'] as const
export type View = (typeof views)[number]

export const pageSizes = [10, 25, 50, 100]
const defaultLimit = 25

/** All views share these, so each view keeps its state, and a filter applies to both lists. */
export interface Route {
  readonly view: View
  readonly page: number
  readonly limit: number
  readonly filter: string
}

/** The page's state is part of its URL, so reloading, links and the back button work. */
const route = new Store(parsed())
let filterTimer: ReturnType<typeof setTimeout> | undefined

addEventListener('hashchange', () => {
  clearTimeout(filterTimer)
  route.set(parsed())
})

export function useRoute(): Route {
  return useStore(route)
}

/** Adds a history entry. With `replace`, changes the current one. */
export function goTo(changes: Partial<Route>, { replace = false } = {}) {
  clearTimeout(filterTimer)
  const next = { ...route.get(), ...changes }
  if (replace) history.replaceState(null, '', hrefOf(next))
  else history.pushState(null, '', hrefOf(next))
  route.set(next)
}

/** Shown immediately, and written to the URL after a pause, because Safari rejects more than 100 changes in 10 seconds. */
export function setFilter(filter: string) {
  clearTimeout(filterTimer)
  route.set({ ...route.get(), filter })
  filterTimer = setTimeout(() => history.replaceState(null, '', hrefOf(route.get())), 200)
}

/** A link to a view, with everything else unchanged. */
export function linkTo(view: View): string {
  return hrefOf({ ...route.get(), view })
}

/** The state in the URL. Invalid parts are replaced by the values shown. */
function parsed(): Route {
  const shown = parse(location.hash)
  history.replaceState(null, '', hrefOf(shown))
  return shown
}

/** The URL with the values that differ from a new page. */
function hrefOf({ view, page, limit, filter }: Route): string {
  const query = new URLSearchParams()
  if (page !== 1) query.set('page', String(page))
  if (limit !== defaultLimit) query.set('limit', String(limit))
  if (filter) query.set('filter', filter)
  return query.size > 0 ? `#${view}?${query}` : `#${view}`
}

function parse(hash: string): Route {
  const [name, query] = hash.slice(1).split('?')
  const parameters = new URLSearchParams(query)
  const page = parameters.get('page') ?? ''
  const limit = Number(parameters.get('limit'))
  return {
    view: views.find(view => view === name) ?? 'transactions',
    page: /^[1-9]\d{0,8}$/.test(page) ? Number(page) : 1,
    limit: pageSizes.includes(limit) ? limit : defaultLimit,
    filter: parameters.get('filter') ?? '',
  }
}
