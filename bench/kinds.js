// Kinds of measurements, each with groups of cases and the columns of its tables.
import { readdirSync, readFileSync } from 'node:fs'

export const own = 'virtual-accounts'
export const baseline = 'fetch'
export const parallel = `${baseline}, four at a time`
export const unverified = `${own}, verified: false`
export const wide = `${unverified}, concurrency: 16`

const json = path => JSON.parse(readFileSync(new URL(path, import.meta.url)))
const versions = { ...json('package.json').dependencies, [own]: json('../package.json').version }

/** Loading a peer costs nothing, because it imports its client only when it connects. */
export function loadPeer(peer) {
  return import(new URL(`peers/${peer}.js`, import.meta.url))
}

const names = readdirSync(new URL('peers/', import.meta.url)).map(file => file.replace('.js', ''))
const peers = await Promise.all(
  [own, ...names.filter(name => name !== own)].map(async peer => {
    const { packages } = await loadPeer(peer)
    return { name: peer, peer, packages: packages.map(name => `${name}@${versions[name]}`) }
  }),
)

/** Pinned, or the version that a range allowed on that day. */
export const packages = peers.flatMap(({ packages }) => packages)

const ours = [
  peers[0],
  { ...peers[0], name: unverified, verified: false },
  { ...peers[0], name: wide, verified: false, concurrency: 16 },
]
/** Handwritten loops, one request at a time, and with as many in flight as this client has. */
const loops = peers
  .filter(({ name }) => name === baseline)
  .flatMap(one => [one, { ...one, name: parallel, concurrency: 4 }])
/** ky has no pagination of its own. */
const walkers = [...ours, ...loops, ...peers.slice(1).filter(({ peer }) => !['ky', baseline].includes(peer))]
const withLoop = [ours[0], ...loops]

/** A column: its title, the digits shown, and its value in one round, from this measurement and those of other cases. */
const column = (title, digits, value) => ({ title, digits, value })
const times = (title, key, peer) => column(title, 2, (it, of) => it[key] / of(peer)[key])
const requests = column('requests', 0, it => it.requests)

/** How many walks run at a time, by latency. A walk that mostly waits leaves the machine to others. */
const lanesOf = { 0: 1, 20: 2, 100: 8 }

function walks(items, latency, who, { limit = 100, changes } = {}) {
  const cases = who.map(entry => ({ ...entry, items, latency, changes, ...(limit && { limit }) }))
  const isParallel = ({ peer, concurrency }) => peer === own || concurrency
  const columns =
    latency > 0
      ? [
          column('s', 2, it => it.wallMs / 1000),
          times('s × fetch', 'wallMs', baseline),
          requests,
          ...(changes ? [column('missed', 0, it => it.missed)] : []),
        ]
      : [
          column('CPU µs/item', 1, it => (it.cpuMs * 1000) / items),
          times('CPU × fetch', 'cpuMs', baseline),
          times('CPU × increase', 'cpuMs', 'increase'),
          requests,
        ]
  return {
    title: `${items} items, ${latency} ms, ${limit ? `limit ${limit}` : 'no limit'}${changes ? `, ${changes} change with each page` : ''}`,
    cases: cases.map(one => ({ ...one, lanes: isParallel(one) ? 1 : lanesOf[latency] })),
    columns,
  }
}

const calls = 2_000

function call(method) {
  return {
    title: method.toUpperCase(),
    cases: peers.map(entry => ({ ...entry, method, calls, items: 0, latency: 0 })),
    columns: [column('CPU µs', 0, it => (it.cpuMs * 1000) / calls), times('CPU × ky', 'cpuMs', 'ky')],
  }
}

/** Clients with their defaults. With `perSecond`, the service refuses extra requests. */
function limited(writes, perSecond) {
  const all = peers.filter(({ peer }) => [own, 'ky', 'stripe', 'openai'].includes(peer))
  const ky = all.find(({ peer }) => peer === 'ky')
  const who = perSecond ? all : [all[0], ky, { ...ky, name: 'ky, 50 at a time', concurrency: 50 }]
  return {
    title: `${writes} writes at once${perSecond ? `, ${perSecond} a second` : ''}`,
    cases: who.map(entry => ({ ...entry, writes, perSecond, items: 0, latency: 20 })),
    columns: [
      column('succeeded', 0, it => it.succeeded),
      column('s', 2, it => it.wallMs / 1000),
      column('refusals', 0, it => it.requests - it.succeeded),
    ],
  }
}

const bare = { name: 'bare Node', peer: baseline, isBare: true }
const packaged = peers.filter(({ packages }) => packages.length > 0)
const kilobytes = (title, value) => column(title, 1, it => value(it) / 1000)

/** By name. Kinds with `rounds: 1` always have the same result. */
export const kinds = {
  walk: {
    groups: [
      walks(10_000, 20, walkers),
      walks(10_000, 100, walkers),
      walks(100_000, 0, walkers),
      walks(100_000, 100, [ours[2]]),
      ...[10, 20, 50].map(limit => walks(100 * limit, 20, ours.slice(0, 2), { limit })),
      walks(10_000, 20, withLoop, { limit: null }),
      ...[1, 3].map(changes => walks(10_000, 100, withLoop, { changes })),
    ],
  },
  call: { groups: [call('get'), call('post')] },
  limit: { groups: [limited(200, 50), limited(2_000)] },
  import: {
    groups: [
      {
        title: 'import and a first Request',
        cases: [...peers, bare],
        columns: [
          column('CPU ms', 0, (it, of) => it.cpuMs - of(bare.name).cpuMs),
          column('× bare Request', 2, (it, of) => {
            const nothing = of(bare.name).cpuMs
            return (it.cpuMs - nothing) / (of(baseline).cpuMs - nothing)
          }),
        ],
      },
    ],
  },
  size: {
    rounds: 1,
    groups: [
      {
        title: 'bundled',
        cases: packaged,
        columns: [
          kilobytes('esbuild, min + gzip kB', it => it.esbuild),
          kilobytes('rolldown, min + gzip kB', it => it.rolldown),
        ],
      },
    ],
  },
  footprint: {
    rounds: 1,
    groups: [
      {
        title: 'installed',
        cases: packaged,
        columns: [column('packages', 0, it => it.packages), column('MB', 1, it => it.bytes / 1e6)],
      },
    ],
  },
  memory: {
    groups: [
      {
        title: '1000000 items, 64 MB of heap',
        cases: withLoop.map(entry => ({
          ...entry,
          items: 1_000_000,
          limit: 100,
          latency: 0,
          node: ['--max-old-space-size=64'],
        })),
        columns: [column('most heap MB', 0, it => it.heapBytes / 1e6), requests],
      },
    ],
  },
}

/** Checks, not measurements: every peer reads each item once with the fewest requests, and sends a GET and a POST. */
export const smoke = [
  ...[...ours.slice(0, 2), ...loops, ...peers.slice(1).filter(({ peer }) => peer !== baseline)].map(one => ({
    ...one,
    limit: 100,
    pages: pagesRead(one),
  })),
  ...withLoop.map(one => ({ ...one, case: 'no limit', pages: one.name === own ? 4 : 15 })),
  // Two more requests check whether the order depends on the request.
  { ...ours[0], case: 'changes', limit: 100, changes: 1, pages: 6 },
].map(({ pages, case: which = '', ...one }) => ({
  ...one,
  items: 300,
  latency: 0,
  kind: 'smoke',
  label: `smoke: ${one.name} ${which}`.trimEnd(),
  requests: 2 + pages,
}))

function pagesRead({ name, peer }) {
  if (peer === 'ky') return 0
  // Pages that overlap hold fewer new items.
  return name === own ? 4 : 3
}

for (const [kind, { groups }] of Object.entries(kinds)) {
  for (const group of groups) {
    group.key = `${kind}: ${group.title}`
    group.cases = group.cases.map(one => ({ ...one, kind, label: `${group.key}: ${one.name}` }))
  }
}
