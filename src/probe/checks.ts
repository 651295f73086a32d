import type { Page } from '../index.js'
import { broken, countOf, emptyList, type Finding, notChecked, note, ok } from './finding.js'
import {
  contradiction,
  expectedCount,
  hasStatus,
  isConclusive,
  type ListReads,
  type Outcome,
  type PageRead,
  type ReadPage,
} from './read.js'

// Each check is a function of the pages that were read.

const askOwner = 'Ask the owner of the service to fix it.'
const tooLow = `Loops can end too early if pages cannot overlap, or with \`verified: false\`. ${askOwner}`
const tooHigh = `Loops throw because items seem to be missing, or cannot prove that they are complete. ${askOwner}`
export const changed = 'the list changed while it was read, or its order is not stable: probe again'

/** Whether there is a list. */
export function checkFirst({ value, problem = '', error }: PageRead, hasKey: boolean): Finding[] {
  const reachable = ok('reachable', 'HTTP responses arrive')
  const key = ok('api-key', hasKey ? 'the key works, or none is needed' : 'not sent, and not needed')
  if (value) return [reachable, key, ok('envelope', 'data, page, totalItems and limit')]
  if (error?.kind === 'http') {
    const { status } = error
    if (status === 401 || status === 403)
      return [reachable, broken('api-key', problem, 'Pass another API key.')]
    const advice = status === 429 || status >= 500 ? 'Try again later.' : 'Check the URL.'
    return [reachable, broken('envelope', problem, advice)]
  }
  if (error?.kind === 'invalid-response' || error?.kind === 'pagination')
    return [reachable, key, broken('envelope', problem, 'Check the URL.')]
  return [broken('reachable', problem, 'Check the URL and the network.')]
}

/** Whether page 1 is the first one, and the page after it is page 2. */
export function checkPageNumbers(
  first: Page<unknown> | undefined,
  zero: Outcome<unknown>,
  second?: PageRead,
): Finding {
  const id = 'page-numbers'
  const { data } = Object(zero.value) as { data?: unknown }
  const items: readonly unknown[] = Array.isArray(data) ? data : []
  const keys = new Set(first?.data.map(keyOf))
  // One item is enough, because the list may have changed between the two requests.
  const showsPageOne = items.some(item => keys.has(keyOf(item)))
  if (items.length > 0 && !showsPageOne) {
    const observed = `page 0 has ${countOf(items.length, 'item')} that page 1 does not have: pages are counted from 0`
    return broken(id, observed, `Loops begin at page 1 and miss them. ${askOwner}`)
  }
  if (second && isConclusive(second)) return broken(id, second.problem ?? '', `Loops fail. ${askOwner}`)
  if (zero.problem !== undefined && !isConclusive(zero)) return notChecked(id, zero.problem)
  const status = zero.error?.kind === 'http' ? ` (HTTP ${zero.error.status})` : ''
  const shown = showsPageOne ? 'is page 1' : zero.error ? `is refused${status}` : 'has no items'
  return ok(id, `counted from 1: page 0 ${shown}`)
}

/** Whether the items are transactions. */
export function checkItems({ value, problem = '', error }: Outcome<Page<unknown>>): Finding {
  if (error?.kind === 'invalid-response') {
    const wrong = new Set(error.issues.map(({ path, message }) => [...path.slice(2), message].join(': ')))
    const advice = 'Such pages fail. Pass a `schema` to the list. The command `schema` prints one.'
    return broken('items', [...wrong].join('; '), advice)
  }
  if (!value) return notChecked('items', problem)
  if (value.data.length === 0) return notChecked('items', emptyList)
  return ok('items', `${countOf(value.data.length, 'item')} with id, amount, currency and description`)
}

/** Whether pages can overlap. Only then is a loop proven complete. */
export function checkSmallerLimits({ small }: ListReads): Finding {
  const id = 'smaller-limits'
  const unproven =
    'Loops are not proven to be complete, and `verified: true` throws. Ask the owner of the service to honour any `limit`.'
  const { value, problem = '', limit } = small
  if (value?.limit === limit) return ok(id, `limit ${limit} is honoured, so pages can overlap`)
  if (value) return broken(id, `limit ${limit} is changed to ${value.limit}`, unproven)
  if (hasStatus(small, 400, 422)) return note(id, `limit ${limit}: ${problem}`, unproven)
  if (!isConclusive(small)) return notChecked(id, problem)
  const advice = small.error?.kind === 'pagination' ? unproven : 'Loops fail. Pass `verified: false`.'
  return broken(id, `limit ${limit}: ${problem}`, advice)
}

/** The limit of a loop without one. */
const loopLimit = 100

/** The largest limit, with which a list takes the fewest requests. */
export function checkLargestLimit({ first, larger }: ListReads): Finding {
  const id = 'largest-limit'
  const [tried] = larger
  if (!tried) return ok(id, `the default is ${first.limit}: no larger one was tried`)
  // If page 1 also lacks items, the limit is not the reason.
  const isFull = (page: Page<unknown>) =>
    page.data.length >= expectedCount(page) || first.data.length < expectedCount(first)
  const best = larger.find(({ value }) => value && value.limit > first.limit && isFull(value))
  const limit = best?.value?.limit ?? first.limit
  const wrong = larger.find(read => isConclusive(read) && !isClientError(read))
  if (wrong) return broken(id, `limit ${wrong.limit}: ${wrong.problem}`, `Pass \`limit: ${limit}\`.`)
  const short = larger.find(({ value }) => value && !isFull(value))
  if (short) {
    const observed = `limit ${short.limit} gets ${countOf(short.value?.data.length ?? 0, 'item')}`
    return broken(id, observed, `Pass \`limit: ${limit}\`. ${askOwner}`)
  }
  if (best) {
    const got = best.limit === limit ? 'is honoured' : `is changed to ${limit}`
    const isUsed = (best.limit ?? 0) >= loopLimit && limit <= loopLimit
    const advice = isUsed
      ? 'Loops without a `limit` use it.'
      : `Pass \`limit: ${limit}\` for the fewest requests.`
    return ok(id, `limit ${best.limit} ${got}`, advice)
  }
  const got = larger.find(({ value }) => value)
  if (got) return ok(id, `${limit}, the default: limit ${got.limit} is changed to ${got.value?.limit}`)
  const unread = larger.find(read => !isConclusive(read))
  if (unread) return notChecked(id, unread.problem ?? '')
  return ok(id, `${limit}, the default, as limit ${tried.limit} is refused: ${tried.problem}`)
}

function isClientError({ error }: PageRead): boolean {
  return error?.kind === 'http' && error.status >= 400 && error.status < 500
}

/** Whether ids are unique on a page. Loops recognise items by them. */
export function checkIds(list: ListReads): Finding {
  const pages = pagesOf(list)
  if (pages.every(({ value }) => value.data.length === 0)) return notChecked('ids', emptyList)
  for (const { name, value } of pages) {
    const keys = value.data.map(idOf)
    const missing = keys.filter(key => key === undefined).length
    const advice = 'Pass `itemKey`: without unique keys, loops are not proven to be complete.'
    if (missing > 0) return broken('ids', `${countOf(missing, 'item')} of ${name} without an id`, advice)
    const repeated = keys.length - new Set(keys).size
    if (repeated > 0)
      return broken('ids', `${countOf(repeated, 'item')} of ${name} with the id of another`, advice)
  }
  return ok('ids', 'unique on each page')
}

/** Whether each page has as many items as its own total promises. */
export function checkTotal(list: ListReads): Finding {
  const { first, last, beyond } = list
  for (const read of pagesOf(list)) {
    const observed = contradiction(read)
    // Another check covers the page beyond the end.
    if (observed === undefined || read === beyond) continue
    return broken('total', observed, read.value.data.length < expectedCount(read.value) ? tooHigh : tooLow)
  }
  const corrected = pagesOf(list).find(read => read.corrected)?.corrected
  if (corrected !== undefined) {
    const advice =
      'The service reads items and total at different times, while the list changes. Loops fetch such a page again.'
    return note('total', `${corrected}. It is right when fetched again`, advice)
  }
  if (isChanged(list)) return notChecked('total', list.again.problem ?? changed)
  if (isConclusive(last)) return broken('total', last.problem ?? '', tooHigh)
  const { data, limit } = last.value ?? { data: [], limit: 0 }
  const total = countOf(first.totalItems, 'item')
  if (last.value && (data.length < limit || beyond.value?.data.length === 0 || hasStatus(beyond, 404))) {
    return ok('total', `${total}, as the end of the list shows`)
  }
  return notChecked('total', last.problem ?? `${total}: the end of the list was not seen`)
}

/** The response to a page beyond the end. */
export function checkBeyondEnd({ beyond, first }: ListReads): Finding {
  const id = 'beyond-end'
  const { value, problem = '', error, name } = beyond
  if (isWithoutTotal(beyond, first)) {
    const advice = 'Loops ignore this total.'
    return note(id, `${name} is empty, and its totalItems is 0`, advice)
  }
  if (value?.data.length === 0) return ok(id, `${name} is empty`)
  if (value && expectedCount(value) > 0) return notChecked(id, changed)
  if (value) {
    const observed = `${name} has ${countOf(value.data.length, 'item')}, although totalItems is ${value.totalItems}`
    return broken(id, observed, tooLow)
  }
  const taken = 'Loops treat it as the end of the list. Awaiting such a page fails.'
  if (hasStatus(beyond, 404)) return note(id, `${name} gets HTTP 404`, taken)
  if (error?.kind === 'pagination') return broken(id, problem, taken)
  if (!isConclusive(beyond)) return notChecked(id, problem)
  return broken(id, problem, `Loops fail when they read past the end to verify it. ${askOwner}`)
}

/**
 * Whether all pages show the same list. The list may have changed between two requests, so a difference counts only if it is seen
 * twice.
 */
export function comparePages(list: ListReads): Finding {
  // Another check covers the page beyond the end.
  const pages = pagesOf(list).filter(
    read => read !== list.beyond || read.value.data.length === expectedCount(read.value),
  )
  const isIdentified = checkIds(list).status !== 'broken'
  const moved = isIdentified && findMoved(pages)
  const advice =
    'Loops miss items, and throw if they notice. Ask the owner of the service for an order that is unique and does not change, such as by date and id.'
  if (moved) return broken('order', moved, advice)
  if (isChanged(list)) return notChecked('order', list.again.problem ?? changed)
  const { first } = list
  const other = pages.find(read => read.value.totalItems !== first.totalItems && !isWithoutTotal(read, first))
  if (other) {
    const observed = `${other.value.totalItems} on ${other.name}, but ${first.totalItems} on page 1`
    return broken('total', observed, `Loops can fail or end too early. ${askOwner}`)
  }
  if (!isIdentified) return notChecked('order', 'ids are missing or not unique')
  // The positions of items are unknown.
  if (pages.some(({ value }) => value.data.length < expectedCount(value)))
    return notChecked('order', 'pages are not full: see total')
  const misplaced = findMisplaced(pages)
  if (misplaced) return broken('order', misplaced, advice)
  if (first.data.length === 0) return notChecked('order', emptyList)
  return ok('order', `the same on all ${countOf(pages.length, 'page')} that were read`)
}

/** The end at which the list seems to grow, if items have a date. */
export function checkGrowth({ first, last }: ListReads): Finding {
  const items = [...first.data, ...(last.value?.data ?? [])]
  if (items.length < 2) return notChecked('growth', emptyList)
  const field = Object.keys(Object(items[0])).find(name => items.every(item => isDate(Object(item)[name])))
  if (field === undefined) return notChecked('growth', 'items have no date')
  const times = items.map(item => Date.parse(Object(item)[field]))
  const [oldest, newest] = [times[0] as number, times.at(-1) as number]
  const isSorted = (sign: 1 | -1) =>
    times.every((time, index) => index === 0 || sign * (time - (times[index - 1] as number)) >= 0)
  if (oldest < newest && isSorted(1))
    return ok('growth', `oldest first, by ${field}`, 'To read only new items, pass `after`.')
  if (oldest > newest && isSorted(-1))
    return ok('growth', `newest first, by ${field}`, 'To read only new items, pass `until`.')
  return notChecked('growth', `not sorted by ${field}`)
}

function isDate(value: unknown): boolean {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\d/.test(value) && !Number.isNaN(Date.parse(value))
}

/** A service that counts along with the items of a page has a total of 0 if the page is empty. */
function isWithoutTotal({ value }: PageRead, first: Page<unknown>): boolean {
  return value?.totalItems === 0 && value.page > 1 && value.data.length === 0 && first.totalItems > 0
}

function pagesOf({ own, second, small, larger, last, parts, beyond, again }: ListReads): ReadPage[] {
  const reads = [own, second, small, ...larger, last, ...parts, beyond, again]
  return reads.filter((read): read is ReadPage => read?.value !== undefined)
}

/** Whether the list has changed since the first request. */
function isChanged({ first, again: { value } }: ListReads): boolean {
  if (!value || value.totalItems !== first.totalItems) return true
  return JSON.stringify(value.data.map(keyOf)) !== JSON.stringify(first.data.map(keyOf))
}

/** Items in another order. Additions and removals do not change the order of the others. */
function findMoved(pages: readonly ReadPage[]): string | undefined {
  for (const [index, one] of pages.entries()) {
    const places = new Map(one.value.data.map((item, place) => [keyOf(item), place]))
    for (const other of pages.slice(index + 1)) {
      const common = other.value.data.flatMap(item => places.get(keyOf(item)) ?? [])
      const isMoved = common.some((place, index) => index > 0 && place < (common[index - 1] ?? 0))
      if (!isMoved) continue
      const how = one.name === other.name ? 'when read again' : other.name.split(`${one.name} `)[1]
      return how ? `${one.name} has another order ${how}` : `${one.name} and ${other.name} differ in order`
    }
  }
  return undefined
}

/** An item at two positions of the list, or two items at the same position. */
function findMisplaced(pages: readonly ReadPage[]): string | undefined {
  const at = new Map<number, { key: string; name: string }>()
  const places = new Map<string, { place: number; name: string }>()
  for (const { name, value } of pages) {
    const start = (value.page - 1) * value.limit
    for (const [index, item] of value.data.entries()) {
      const place = start + index
      const key = keyOf(item)
      const same = at.get(place)
      if (same && same.key !== key) return `${name} and ${same.name} have different items at the same places`
      const before = places.get(key)
      if (before && before.place !== place && before.name !== name)
        return `${name} repeats items of ${before.name}`
      at.set(place, { key, name })
      places.set(key, { place, name })
    }
  }
  return undefined
}

/** The id by which the client recognises a transaction. */
function idOf(item: unknown): string | undefined {
  const { id } = Object(item) as { id?: unknown }
  return typeof id === 'string' || typeof id === 'number' ? JSON.stringify(id) : undefined
}

function keyOf(item: unknown): string {
  return idOf(item) ?? JSON.stringify(item)
}
