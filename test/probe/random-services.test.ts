import { type ProbeReport, probe } from 'virtual-accounts/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { cases } from '../cases.ts'
import { Random } from '../simulation/random.ts'
import { checkEach } from '../support.ts'
import { json, type PageBody, skipPauses } from './service.ts'

beforeEach(() => {
  skipPauses()
})
afterEach(() => {
  vi.unstubAllGlobals()
})

const seeds = (count: number) => Array.from({ length: cases(count) }, (_, index) => `${index}`)

test('a service that conforms has nothing broken, whatever its limits and its length, also while it changes', () =>
  checkEach(seeds(100), async seed => {
    const random = new Random(seed)
    const service = createService(random)
    const { ids } = service
    const changes = [() => {}, () => ids.unshift(ids.length), () => ids.push(ids.length), () => ids.pop()]
    const change = random.pick<() => void>(changes)
    const share = random.pick([0.1, 0.5, 1])
    const { report } = await probeList((page, limit) => {
      if (random.chance(share)) change()
      return service.respond(page, limit)
    })
    expect(report.findings.filter(({ status }) => status === 'broken')).toEqual([])
  }))

test('one kind of response that contradicts the specification is reported, unless the list seems to change, and no limit is suggested that shows it', () =>
  checkEach(seeds(100), async seed => {
    const random = new Random(seed)
    const service = createService(random)
    const fault = random.pick(faults)
    const pages = random.pick<(page: number) => boolean>([() => true, page => page === 1, page => page > 1])
    const limits = random.pick<(limit?: number) => boolean>([
      () => true,
      limit => limit === undefined,
      limit => limit !== undefined && limit < 5,
      limit => limit !== undefined && limit > 5,
    ])
    const times = random.pick<(time: number) => boolean>([
      () => true,
      time => time % 2 === 0,
      time => time === 1,
    ])
    const seen = new Map<string, number>()
    const { report, reads } = await probeList((page, limit) => {
      const response = service.respond(page, limit)
      const time = (seen.get(`${page} ${limit}`) ?? 0) + 1
      seen.set(`${page} ${limit}`, time)
      return pages(page) && limits(limit) && times(time) && page > 0 ? fault(response) : response
    })
    const wrong = reads.filter(isWrong)
    const total = report.findings.find(({ id }) => id === 'total')
    // The list seems to have changed while it was read.
    const isOpen = total?.observed.startsWith('totalItems was not always the same')
    const broken = report.findings.filter(({ status }) => status === 'broken')
    if (wrong.length > 0 && !isOpen) expect(broken.map(({ id }) => id)).not.toEqual([])
    const { limit } = report.suggestedOptions
    if (limit !== undefined) expect(wrong.filter(read => read.limit === limit)).toEqual([])
  }))

/** A page, or the status of a response without one. */
type Answer = PageBody | number

/** Fewer than 5 for a small limit, and more for those above the default. */
function createService(random: Random) {
  const ids = Array.from({ length: random.pick([0, 1, 2, 3, 5, 19, 20, 21, 40, 101, 250]) }, (_, id) => id)
  const byDefault = random.pick([5, 10, 20, 25, 100, 1_000])
  const largest = Math.max(byDefault, random.pick([50, 100, 500, 1_000]))
  const tooLarge = random.pick(['lowered', 'refused', 'default'])
  const isZeroOne = random.chance(0.5)
  const respond = (page: number, requested = byDefault): Answer => {
    if (requested > largest && tooLarge === 'refused') return 400
    const limit = requested <= largest ? requested : tooLarge === 'lowered' ? largest : byDefault
    if (page === 0 && !isZeroOne) return 400
    const start = (Math.max(1, page) - 1) * limit
    const data = ids.slice(start, start + limit).map(toItem)
    return { data, page, limit, totalItems: ids.length }
  }
  return { ids, respond }
}

const toItem = (id: number) => ({ id: `t${id}`, amount: 1, currency: 'EUR', description: '' })

const change = (changed: (page: PageBody) => Partial<PageBody>) => (answer: Answer) =>
  typeof answer === 'number' ? answer : { ...answer, ...changed(answer) }

const faults: readonly ((answer: Answer) => Answer)[] = [
  () => 500,
  change(({ page }) => ({ page: page + 1 })),
  change(({ limit }) => ({ limit: limit + 1 })),
  change(({ totalItems }) => ({ totalItems: totalItems + 1 })),
  change(({ totalItems }) => ({ totalItems: totalItems * 2 })),
  change(({ totalItems }) => ({ totalItems: Math.max(0, totalItems - 1) })),
  change(() => ({ totalItems: 0 })),
  change(({ data }) => ({ totalItems: data.length })),
  change(({ data }) => ({ data: data.slice(1) })),
  change(({ data }) => ({ data: data.slice(0, -1) })),
  change(() => ({ data: [] })),
  change(({ data }) => ({ data: [...data, toItem(9_999)] })),
  change(({ data }) => ({ data: data.map((item, index) => data[index === 1 ? 0 : index] ?? item) })),
  change(({ data }) => ({ data: data.toReversed() })),
]

interface Read {
  readonly page: number
  readonly limit: number | undefined
  readonly answer: Answer
}

/** Probes a list that is read page by page. */
async function probeList(respond: (page: number, limit?: number) => Answer) {
  const reads: Read[] = []
  const fetch = async (url: string, init: RequestInit) => {
    const isWrongKey = new Headers(init.headers).get('Api-Key') !== 'key-of-the-test'
    if (isWrongKey) return json({}, 401)
    const query = new URL(url).searchParams
    const page = Number(query.get('page'))
    const limit = query.has('limit') ? Number(query.get('limit')) : undefined
    const answer = respond(page, limit)
    if (page > 0) reads.push({ page, limit, answer })
    return typeof answer === 'number' ? json({}, answer) : json(answer)
  }
  const options = { baseUrl: 'https://list.test', apiKey: 'key-of-the-test', fetch }
  const report: ProbeReport = await probe(options)
  return { report, reads }
}

/** Whether a response contradicts itself, its request, or the specification; a large limit may be refused. */
function isWrong({ page, limit = 0, answer }: Read): boolean {
  if (typeof answer === 'number') return answer >= 500 || limit <= 5
  const expected = Math.max(0, Math.min(answer.limit, answer.totalItems - (page - 1) * answer.limit))
  const ids = new Set(answer.data.map(({ id }) => id))
  return answer.page !== page || answer.data.length !== expected || ids.size < answer.data.length
}
