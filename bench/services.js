// What the server answers with: the items that all peers walk, and the ways of paging that several of them share.

/** Items a page, for everybody. */
export const limit = 100

/** For everybody, and as long as keys are: some clients do something with each character of it. */
export const key = 'bench_0123456789abcdefghijklmnopqrstuvwx'

const bytesPerItem = 256
const words = 'Invoice '.repeat(bytesPerItem / 8)

/** Ids hold their index, so that a cursor made of one needs no memory. */
export function idOf(index) {
  return `5${String(index).padStart(22, '0')}`
}

export function indexAfter(id) {
  return Number(id.slice(1)) + 1
}

/** Fields beside the description, which fills every item up to the same size. */
function defaultItem(index) {
  return { id: idOf(index), amount: (index % 100_000) / 100, currency: 'EUR' }
}

export function itemText(index, fieldsOf = defaultItem) {
  const rest = `${JSON.stringify(fieldsOf(index)).slice(0, -1)},"description":"`
  return `${rest}${words.slice(0, bytesPerItem - rest.length - 2)}"}`
}

/**
 * One page of a list of `total` items in a peer's dialect: its body and headers.
 * `end` is the index after its last item, `more` whether any follows.
 */
export function pageOf(service, { start, total, size = limit, origin }) {
  const end = Math.min(start + size, total)
  const texts = []
  for (let index = start; index < end; index++) texts.push(itemText(index, service.item))
  const facts = { data: `[${texts.join(',')}]`, start, end, more: end < total, total, size, origin }
  return { body: Buffer.from(service.page(facts)), headers: service.headers?.(facts) ?? {} }
}

/** `page` and `limit`, as the service of our interface has them. */
export const pageNumbers = {
  path: '/transactions',
  start: query => (Number(query.get('page')) - 1) * limit,
  page: ({ data, start, total, size }) =>
    `{"data":${data},"page":${start / size + 1},"totalItems":${total},"limit":${size}}`,
}

/** The same, walked by hand: what one writes around a client that has no pagination of its own. */
export async function walkPageNumbers(ask, visit) {
  for (let page = 1; ; page++) {
    const { data, totalItems } = await ask({ page, limit })
    for (const item of data) visit(item)
    if (page * limit >= totalItems) return
  }
}

/** A bare array, and the address of the next page in a Link header. */
export const links = {
  path: '/transactions',
  start: query => (Number(query.get('page')) - 1) * limit,
  page: ({ data }) => data,
  headers: ({ end, more, origin }) =>
    more ? { link: `<${origin}/transactions?page=${end / limit + 1}&per_page=${limit}>; rel="next"` } : {},
}
