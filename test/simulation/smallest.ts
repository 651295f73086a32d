import type { Scenario } from './scenario.ts'

/**
 * Makes a failing scenario as small as it gets while `fails` holds: fewer changes and items, lower limits, steadier
 * requests. What is left is what the failure needs.
 */
export async function smallest(
  scenario: Scenario,
  fails: (smaller: Scenario) => Promise<boolean>,
): Promise<Scenario> {
  let best = scenario
  let isSmaller = true
  while (isSmaller) {
    isSmaller = false
    for (const candidate of smaller(best)) {
      if (!(await fails(candidate))) continue
      best = candidate
      isSmaller = true
      break
    }
  }
  return best
}

function* smaller(scenario: Scenario): Generator<Scenario> {
  const { changes, routes, size, limit, concurrency, service, pause, twinDistance } = scenario
  const plain = {
    limitChange: undefined,
    replicaLagsMs: [0],
    totalLagMs: 0,
    totalErrors: [0],
    faults: {},
    brokenRequest: undefined,
  }
  for (const half of [changes.slice(0, changes.length / 2), changes.slice(changes.length / 2)]) {
    if (half.length < changes.length) yield { ...scenario, changes: half }
  }
  for (const index of changes.keys()) yield { ...scenario, changes: changes.toSpliced(index, 1) }
  if (pause) yield { ...scenario, pause: undefined }
  for (const [name, value] of Object.entries(plain)) {
    const now = service[name as keyof typeof plain]
    if (JSON.stringify(now) !== JSON.stringify(value)) {
      yield { ...scenario, service: { ...service, [name]: value } }
    }
  }
  if (routes.length > 1) yield { ...scenario, routes: routes.slice(0, routes.length / 2) }
  for (const less of [Math.floor(size / 2), size - 5, size - 1]) {
    if (less >= 0 && less < size) yield { ...scenario, size: less }
  }
  if (limit !== undefined) {
    for (const less of [Math.floor(limit / 2), limit - 1]) {
      if (less > 0 && less < limit) yield { ...scenario, limit: less }
    }
  }
  for (const less of [1, 2, 4]) if (less < concurrency) yield { ...scenario, concurrency: less }
  if (twinDistance) yield { ...scenario, twinDistance: twinDistance - 1 }
  for (const [index, { remove, insert }] of changes.entries()) {
    if (!remove && !insert) continue
    if (Math.max(remove?.count ?? 1, insert?.count ?? 1) === 1) continue
    const change = {
      ...changes[index],
      ...(remove && { remove: { ...remove, count: Math.ceil(remove.count / 2) } }),
      ...(insert && { insert: { ...insert, count: Math.ceil(insert.count / 2) } }),
    }
    yield { ...scenario, changes: changes.with(index, change as Scenario['changes'][number]) }
  }
  for (const [index, route] of routes.entries()) {
    if (route.serveMs === 1 && route.arriveMs === 1 && route.replica === 0) continue
    yield { ...scenario, routes: routes.with(index, { serveMs: 1, arriveMs: 1, replica: 0 }) }
  }
}
