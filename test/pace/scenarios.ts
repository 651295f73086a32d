import type { Scenario } from './trial.ts'

/** One client, or several that share a limit: every call succeeds. */
export const limits: readonly Scenario[] = [
  { name: 'a bucket of 50 a second, 200 at once', limit: { kind: 'bucket', rate: 50 }, calls: 200 },
  {
    name: 'the same without Retry-After',
    limit: { kind: 'bucket', rate: 50 },
    retryAfter: 'none',
    calls: 200,
  },
  { name: 'the same by 503 with Retry-After', limit: { kind: 'bucket', rate: 50 }, status: 503, calls: 200 },
  {
    name: 'a bucket of 50 a second, 2,000 at once, 300 ms',
    limit: { kind: 'bucket', rate: 50 },
    latency: 300,
    calls: 2_000,
  },
  {
    name: 'a bucket of 5 a second, ten at a time',
    limit: { kind: 'bucket', rate: 5 },
    calls: 200,
    atATime: 10,
  },
  {
    name: 'a bucket of 2 a second, without Retry-After',
    limit: { kind: 'bucket', rate: 2 },
    retryAfter: 'none',
    calls: 120,
    atATime: 50,
  },
  { name: 'a bucket of 1 a second', limit: { kind: 'bucket', rate: 1 }, calls: 60 },
  { name: 'a bucket of 500 a second, 5 ms', limit: { kind: 'bucket', rate: 500 }, latency: 5, calls: 2_000 },
  {
    name: 'the same where timers fire 20 ms late',
    limit: { kind: 'bucket', rate: 500 },
    latency: 5,
    lateMs: 20,
    calls: 3_000,
  },
  {
    name: 'a bucket of 500 a second that holds 50, 200 at a time',
    limit: { kind: 'bucket', rate: 500, burst: 50 },
    latency: 50,
    calls: 3_000,
    atATime: 200,
  },
  {
    name: 'a bucket of 100 a second that holds 10',
    limit: { kind: 'bucket', rate: 100, burst: 10 },
    latency: 5,
    retryAfter: 'none',
    calls: 1_000,
  },
  {
    name: 'windows of 60 a minute',
    limit: { kind: 'fixed', rate: 1, windowMs: 60_000 },
    retryAfter: 'date',
    calls: 180,
  },
  {
    name: 'the same without Retry-After',
    limit: { kind: 'fixed', rate: 1, windowMs: 60_000 },
    retryAfter: 'none',
    calls: 180,
  },
  {
    name: 'windows of 30 a minute, without Retry-After',
    limit: { kind: 'fixed', rate: 0.5, windowMs: 60_000 },
    retryAfter: 'none',
    calls: 100,
  },
  {
    name: 'windows of 5 in 30 seconds, without Retry-After',
    limit: { kind: 'fixed', rate: 1 / 6, windowMs: 30_000 },
    retryAfter: 'none',
    calls: 40,
  },
  {
    name: 'a bucket of 1 in 10 seconds that holds 5, without Retry-After',
    limit: { kind: 'bucket', rate: 0.1, burst: 5 },
    retryAfter: 'none',
    calls: 30,
  },
  { name: 'windows of 50 a second', limit: { kind: 'fixed', rate: 50 }, calls: 500 },
  {
    name: 'windows of 5 a second, four at a time',
    limit: { kind: 'fixed', rate: 5 },
    latency: 100,
    calls: 200,
    atATime: 4,
  },
  {
    name: 'a sliding window of 10 a second',
    limit: { kind: 'sliding', rate: 10 },
    retryAfter: 'none',
    calls: 300,
  },
  {
    name: 'a sliding window of 100 in 10 seconds',
    limit: { kind: 'sliding', rate: 10, windowMs: 10_000 },
    calls: 500,
  },
  {
    name: 'a sliding window of 500 a second, 300 ms',
    limit: { kind: 'sliding', rate: 500 },
    latency: 300,
    calls: 2_000,
  },
  { name: '5 in flight', limit: { kind: 'in-flight', rate: 5 }, latency: 100, calls: 300 },
  {
    name: '20 in flight, 300 ms',
    limit: { kind: 'in-flight', rate: 20 },
    latency: 300,
    retryAfter: 'none',
    calls: 1_000,
  },
  { name: '50 in flight', limit: { kind: 'in-flight', rate: 50 }, latency: 50, calls: 2_000 },
  { name: 'two loops beside 200 calls', limit: { kind: 'bucket', rate: 50 }, calls: 200, loops: 2 },
  { name: 'two loops beside 50 calls, 10 a second', limit: { kind: 'fixed', rate: 10 }, calls: 50, loops: 2 },
  { name: 'four clients that share a bucket', limit: { kind: 'bucket', rate: 50 }, calls: 400, clients: 4 },
  {
    name: 'four clients that share windows',
    limit: { kind: 'fixed', rate: 50 },
    retryAfter: 'none',
    calls: 400,
    clients: 4,
  },
  {
    name: 'four clients that share 10 in flight',
    limit: { kind: 'in-flight', rate: 10 },
    latency: 50,
    calls: 400,
    clients: 4,
  },
]

const none = { kind: 'none', rate: 0 } as const
const isTenth = (call: number) => call % 10 === 5

/** A tenth of the calls is refused for itself, as for the quota of its account. */
export const alone: readonly Scenario[] = [
  { name: 'all at once', limit: none, latency: 50, retryAfter: 'none', calls: 200 },
  { name: 'all at once, 50 a second', limit: { kind: 'bucket', rate: 50 }, latency: 50, calls: 200 },
  { name: 'ten at a time', limit: none, latency: 50, retryAfter: 'none', calls: 200, atATime: 10 },
  {
    name: 'ten at a time, 5 a second',
    limit: { kind: 'bucket', rate: 5 },
    latency: 50,
    retryAfter: 'none',
    calls: 200,
    atATime: 10,
  },
].map(scenario => ({ ...scenario, isRefusedAlone: isTenth }) as Scenario)

/** Nothing is limited, but for 200 ms nothing works. */
export const blips: readonly Scenario[] = [
  { name: '503 to 200 calls', limit: none, calls: 200, outage: now => (now < 200 ? 503 : undefined) },
  { name: '200 lost connections', limit: none, calls: 200, outage: now => (now < 200 ? 'lost' : undefined) },
  {
    name: '503 at 1,000 calls a second',
    limit: none,
    calls: 2_000,
    everyMs: 1,
    outage: now => (now > 500 && now < 700 ? 503 : undefined),
  },
]

export const outages: readonly Scenario[] = [
  { name: 'at once', limit: none, calls: 200, outage: () => 503 },
  { name: '50 at a time', limit: none, calls: 200, atATime: 50, outage: () => 'lost' },
]

export const unlimited: Scenario = { name: 'unlimited', limit: none, calls: 1_000 }
