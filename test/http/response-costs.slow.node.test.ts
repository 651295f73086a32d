import { describe, expect, test, vi } from 'vitest'
import { account } from '../support.ts'
import { runProgram } from './child-process.ts'
import { stubbed } from './stub.ts'

// Work for seconds on a quiet machine.
vi.setConfig({ testTimeout: 90_000 })

const nowhere = { url: 'https://api.example.com' }

describe('a body in tiny chunks', () => {
  test.concurrent('of 9 MiB in chunks of one byte stays below 200 MB of memory', async () => {
    const { stdout } = await runProgram(
      nowhere,
      `
      let left = 9 * 1024 * 1024
      const read = async () => (left-- > 0 ? { value: Uint8Array.of(0x30) } : { done: true })
      // Without a real stream, which costs more than the client does.
      const body = { getReader: () => ({ read, cancel: async () => {} }) }
      const fetch = async () => ({ status: 200, headers: new Headers(), body })
      const result = await client.withOptions({ fetch }).virtualAccounts.deactivate(account)
      process.stdout.write(JSON.stringify([result.data.length, process.resourceUsage().maxRSS]))`,
    )
    const [length, maxKilobytes] = JSON.parse(stdout)
    expect(length).toBe(9 * 1024 * 1024)
    expect(maxKilobytes).toBeLessThan(200_000)
  })

  // In a process of its own, which a body that starves all timers cannot keep from ending.
  test.concurrent.each([
    ['one byte', 200, 'Uint8Array.of(0x30)'],
    ['no bytes', 200, 'new Uint8Array()'],
    ['no bytes, of an error', 500, 'new Uint8Array()'],
  ])('does not starve the timeout, endless in chunks of %s', async (_size, status, chunk) => {
    const { stdout } = await runProgram(
      nowhere,
      `
      const endless = () => new ReadableStream({ pull: controller => controller.enqueue(${chunk}) })
      const fetch = async () => new Response(endless(), { status: ${status} })
      const slow = client.withOptions({ fetch, timeout: 300, maxRetries: 0, maxResponseBytes: 2 ** 40 })
      const error = await slow.virtualAccounts.deactivate(account).catch(error => error)
      process.stdout.write(JSON.stringify(error.kind))`,
    )
    expect(JSON.parse(stdout)).toBe(status === 200 ? 'timeout' : 'http')
  })

  test.concurrent('does not starve an abort either', async () => {
    const { stdout } = await runProgram(
      nowhere,
      `
      const fetch = async () =>
        new Response(new ReadableStream({ pull: controller => controller.enqueue(new Uint8Array()) }))
      const signal = AbortSignal.timeout(200)
      const error = await client.withOptions({ fetch }).virtualAccounts.deactivate(account, { signal }).catch(e => e)
      process.stdout.write(JSON.stringify(error === signal.reason))`,
    )
    expect(stdout).toBe('true')
  })
})

describe('the time that a response body costs', () => {
  /** CPU time of a call in a process of its own, in microseconds: the least of three. */
  async function cpuTimes(program: string): Promise<number[]> {
    const { stdout } = await runProgram(
      nowhere,
      `
      const cost = async call => {
        const times = []
        for (let run = 0; run < 3; run++) {
          const before = process.cpuUsage()
          await call()
          const { user, system } = process.cpuUsage(before)
          times.push(user + system)
        }
        return Math.min(...times)
      }
      ${program}
      process.stdout.write(JSON.stringify(times))`,
    )
    return JSON.parse(stdout)
  }

  test('grows linearly with numbers of 17 digits', async () => {
    const [small = 0, large = 0] = await cpuTimes(`
      const times = []
      for (const kibibytes of [256, 2048]) {
        const numbers = JSON.stringify(Array.from({ length: kibibytes * 50 }, (_, i) => Math.sqrt(i + 2))).replace(/\\d+\\.\\d+/g, n => Number(n).toPrecision(17))
        const fetch = async () => new Response(numbers)
        const capable = client.withOptions({ fetch })
        times.push(await cost(() => capable.virtualAccounts.deactivate(account)))
      }`)
    // Eight times as many: quadratic work would be 64 times as much.
    expect(large / small).toBeLessThan(24)
  })

  test('grows linearly with an error body that repeats the beginning of the key', async () => {
    const [small = 0, large = 0] = await cpuTimes(`
      const times = []
      for (const kibibytes of [128, 1024]) {
        const fetch = async () => new Response('a'.repeat(kibibytes * 1024), { status: 400 })
        const failing = client.withOptions({ fetch, apiKey: 'a'.repeat(500) + 'b' })
        times.push(await cost(() => failing.virtualAccounts.deactivate(account).catch(() => {})))
      }`)
    expect(large / small).toBeLessThan(24)
  })

  test('does not grow with the length of a key that overlaps itself', async () => {
    const [short = 0, long = 0] = await cpuTimes(`
      const times = []
      for (const length of [100, 800]) {
        const fetch = async () => new Response('a'.repeat(1024 * 1024), { status: 400 })
        const failing = client.withOptions({ fetch, apiKey: 'a'.repeat(length) + 'b' })
        times.push(await cost(() => failing.virtualAccounts.deactivate(account).catch(() => {})))
      }`)
    // Eight times as long: comparing all of it at each position would be eight times as much work.
    expect(long / short).toBeLessThan(4)
  })
})

test('10 MiB of numbers with 17 digits are read as these numbers', async () => {
  const values = Array.from({ length: 500_000 }, (_, index) => Math.sqrt(index + 2))
  const text = `[${values.map(value => value.toPrecision(17)).join(',')}]`
  const { client } = stubbed([() => new Response(text)])
  expect((await client.virtualAccounts.deactivate(account)).data).toEqual(values)
})
