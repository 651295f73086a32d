// What is measured: kinds, each of groups, each of cases; and what is read from it: the columns of its tables.
import { baseline, loadEntries } from './entries.js'
import { limit } from './services.js'

const entries = await loadEntries()
/** Ours once only, where pages at once play no part. */
const once = entries
  .filter(({ isOurs, concurrency }) => !isOurs || concurrency === 4)
  .map(entry => (entry.isOurs ? { ...entry, name: entry.peer } : entry))

const thousands = new Intl.NumberFormat('en')

/** Column: its title, its value in one round (from the measurement and the baseline's), digits shown. */
const column = (title, digits, value) => ({ title, digits, value })
const wallRatio = column('wall × fetch', 2, (it, base) => it.wallMs / base.wallMs)
const cpuRatio = column('CPU × fetch', 2, (it, base) => it.cpuMs / base.cpuMs)
const cpuRatioTo = peer => column(`CPU × ${peer}`, 2, (it, _base, _case, of) => it.cpuMs / of(peer).cpuMs)
const requests = column('requests', 0, it => it.requests)
const megabyte = 1e6

/** A walk that only waits leaves the machine to others: so many of them run side by side. */
const sideBySide = { 0: 1, 20: 2, 100: 8 }

function walks(items, latency, who) {
  const pages = items / limit
  const cases = who.map(entry => {
    const concurrency = entry.concurrency ?? 1
    const leastMs = (latency * pages) / concurrency
    const lanes = concurrency === 1 ? sideBySide[latency] : 1
    return { ...entry, items, latency, leastMs, lanes, seconds: leastMs / 1000 + 0.7 + items / 100_000 }
  })
  const waiting = [
    column('wall s', 2, it => it.wallMs / 1000),
    wallRatio,
    column('wall × least possible', 2, (it, _base, { leastMs }) => it.wallMs / leastMs),
    requests,
  ]
  const working = [
    column('CPU µs/item', 1, it => (it.cpuMs * 1000) / items),
    cpuRatio,
    cpuRatioTo('increase'),
    column('wall ms', 0, it => it.wallMs),
    wallRatio,
    requests,
  ]
  const title = `${thousands.format(items)} items, ${latency} ms`
  return { title, cases, columns: latency === 0 ? working : waiting }
}

/** A hundred pages, so that a walk takes as long at every limit. */
function verified(size) {
  const items = 100 * size
  const plain = { peer: 'virtual-accounts', name: 'plain', items, size, changes: 0, delayMs: 20, seconds: 1 }
  const ofPlain = (title, value) =>
    column(title, 2, (it, _base, _case, of) => value(it) / value(of(plain.name)))
  return {
    title: `limit ${size}, ${thousands.format(items)} items, 20 ms`,
    cases: [
      plain,
      { ...plain, name: 'verified', verified: true },
      ...[4, 16].map(changes => ({
        ...plain,
        name: `verified, ${changes} changes`,
        verified: true,
        changes,
      })),
    ],
    columns: [
      requests,
      ofPlain('requests × plain', it => it.requests),
      column('wall s', 2, it => it.wallMs / 1000),
      ofPlain('wall × plain', it => it.wallMs),
    ],
  }
}

const calls = 2_000

function call(method) {
  return {
    title: method.toUpperCase(),
    cases: once.map(entry => ({ ...entry, method, calls, items: 0, latency: 0, seconds: 1.5 })),
    columns: [
      column('CPU µs/call', 0, it => (it.cpuMs * 1000) / calls),
      cpuRatio,
      cpuRatioTo('ky'),
      column('wall µs/call', 0, it => (it.wallMs * 1000) / calls),
      wallRatio,
    ],
  }
}

const page = { items: 10_000, repetitions: 40 }
const nanoseconds = milliseconds => (milliseconds * 1e6) / (page.items * page.repetitions)

const validation = {
  title: 'one page of 10,000 items',
  cases: once
    .filter(({ peer }) => ['virtual-accounts', 'mistral', 'openai', baseline].includes(peer))
    .map(entry => ({ ...entry, ...page, seconds: 2 })),
  columns: [
    column('CPU ns/item', 0, it => nanoseconds(it.cpuMs)),
    column('more than JSON.parse', 0, (it, base) => nanoseconds(it.cpuMs - base.cpuMs)),
  ],
}

const bare = { name: 'bare Node', peer: baseline, isBare: true }

const coldImport = {
  title: 'import and a first new Request()',
  cases: [...once.map(entry => ({ ...entry, seconds: 0.4 })), { ...bare, seconds: 0.2 }],
  columns: [
    column('CPU ms', 0, (it, _base, _case, of) => it.cpuMs - of(bare.name).cpuMs),
    column('× bare new Request()', 2, (it, base, _case, of) => {
      const nothing = of(bare.name).cpuMs
      return (it.cpuMs - nothing) / (base.cpuMs - nothing)
    }),
  ],
}

const installed = once.filter(({ name }) => name !== baseline)
const kilobytes = (title, value) => column(title, 1, it => value(it) / 1000)

/** A thousand pages one by one take minutes at 100 ms, and tell nothing that a hundred do not. */
const longWalkers = entries.filter(
  ({ concurrency, name }) => concurrency === 4 || concurrency === 16 || name === baseline,
)

/** By name. `rounds: 1`: what comes out is always the same. */
export const kinds = {
  walk: {
    groups: [
      walks(10_000, 0, entries),
      walks(10_000, 20, entries),
      walks(10_000, 100, entries),
      walks(100_000, 0, entries),
      walks(100_000, 20, longWalkers),
      walks(
        100_000,
        100,
        longWalkers.filter(({ concurrency }) => concurrency === 16),
      ),
    ],
  },
  verified: { groups: [verified(20), verified(50), verified(100)] },
  call: { groups: [call('get'), call('post')] },
  validation: { groups: [validation] },
  import: { groups: [coldImport] },
  size: {
    rounds: 1,
    groups: [
      {
        title: 'the client, bundled',
        cases: installed.map(entry => ({
          ...entry,
          seconds: 1,
          note: entry.platform === 'node' ? 'for Node' : undefined,
        })),
        columns: [
          kilobytes('esbuild, min + gzip kB', it => it.esbuild.gzip),
          kilobytes('min kB', it => it.esbuild.minified),
          kilobytes('rolldown, min + gzip kB', it => it.rolldown.gzip),
          kilobytes('min kB ', it => it.rolldown.minified),
        ],
      },
    ],
  },
  footprint: {
    rounds: 1,
    groups: [
      {
        title: 'npm install in an empty folder',
        cases: installed.map(entry => ({ ...entry, seconds: 4 })),
        columns: [column('packages', 0, it => it.packages), column('MB', 1, it => it.bytes / megabyte)],
      },
    ],
  },
  memory: {
    rounds: 1,
    groups: [
      {
        title: '1,000,000 items in 64 MB of heap',
        cases: entries
          .filter(({ concurrency, name }) => concurrency === 4 || name === baseline)
          .map(entry => ({
            ...entry,
            items: 1_000_000,
            latency: 0,
            node: ['--max-old-space-size=64'],
            seconds: 12,
          })),
        columns: [
          column('most heap MB', 0, it => it.heapBytes / megabyte),
          column('resident MB', 0, it => it.residentBytes / megabyte),
          requests,
        ],
      },
    ],
  },
}

/** Not a measurement: whether every peer walks right. */
export const smoke = {
  title: '300 items',
  cases: entries.map(entry => ({
    ...entry,
    kind: 'smoke',
    label: `smoke: ${entry.name}`,
    items: 300,
    latency: 0,
    seconds: 0.6,
  })),
}

export const versions = Object.fromEntries(entries.map(({ peer, packages }) => [peer, packages]))

for (const [kind, { groups }] of Object.entries(kinds)) {
  for (const { title, cases } of groups) {
    for (const one of cases)
      Object.assign(one, { kind, group: title, label: `${kind}: ${title}: ${one.name}` })
  }
}
