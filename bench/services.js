// The items that all peers read, and the kinds of pagination that several of them share.

/** The API key of all peers. It has a usual length, because some clients process each character. */
export const key = 'bench_0123456789abcdefghijklmnopqrstuvwx'

const bytesPerItem = 256
const words = 'Invoice '.repeat(bytesPerItem / 8)

/** Ids contain their index, so the server needs no memory for cursors made of them. */
export function idOf(index) {
  return `5${String(index).padStart(22, '0')}`
}

export function indexAfter(id) {
  return Number(id.slice(1)) + 1
}

/** The description pads every item to the same size. */
export function itemText(index) {
  const fields = { id: idOf(index), amount: (index % 100_000) / 100, currency: 'EUR' }
  const rest = `${JSON.stringify(fields).slice(0, -1)},"description":"`
  return `${rest}${words.slice(0, bytesPerItem - rest.length - 2)}"}`
}

const startOfPage = (query, size) => (Number(query.get('page')) - 1) * size

/** `page` and `limit`, as in the virtual accounts service. */
export const pageNumbers = {
  path: '/transactions',
  start: startOfPage,
  page: ({ data, start, total, size }) =>
    `{"data":${data},"page":${start / size + 1},"totalItems":${total},"limit":${size}}`,
}

/** A handwritten loop over page numbers, for clients without pagination. */
export async function walkPageNumbers(get, limit, visit) {
  for (let page = 1; ; page++) {
    const { data, totalItems, limit: sent } = await getPage(get, page, limit)
    for (const item of data) visit(item)
    if (page * sent >= totalItems) return
  }
}

/** The same with up to `width` requests in flight. The first page says how many pages there are. */
export async function walkInParallel(get, limit, visit, width) {
  const pages = [getPage(get, 1, limit)]
  let last = 1
  for (let next = 2; pages.length > 0; ) {
    const { data, totalItems, limit: sent } = await pages.shift()
    for (const item of data) visit(item)
    last = Math.ceil(totalItems / sent)
    while (next <= last && pages.length < width) pages.push(getPage(get, next++, limit))
  }
}

function getPage(get, page, limit) {
  return get(new URLSearchParams({ page, ...(limit && { limit }) }))
}

/** A bare array, and the address of the next page in a Link header. */
export const links = {
  path: '/transactions',
  start: startOfPage,
  page: ({ data }) => data,
  headers: ({ start, size, total, origin }) =>
    start + size < total
      ? { link: `<${origin}/transactions?page=${start / size + 2}&per_page=${size}>; rel="next"` }
      : {},
}
