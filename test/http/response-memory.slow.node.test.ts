import { expect, test, vi } from 'vitest'
import { account } from '../support.ts'
import { runProgram } from './child-process.ts'
import { stubbed } from './stub.ts'

vi.setConfig({ testTimeout: 90_000 })

const nowhere = { url: 'https://api.example.com' }

test('a body of 9 MiB in chunks of one byte stays below 200 MB of memory', async () => {
  const { stdout } = await runProgram(
    nowhere,
    `
      let left = 9 * 1024 * 1024
      // Not maxRSS, which Linux lets a process inherit from the one that started it.
      let peak = 0
      const look = () => void (peak = Math.max(peak, process.memoryUsage.rss()))
      const read = async () => {
        if (left % 10_000 === 0) look()
        return left-- > 0 ? { value: Uint8Array.of(0x30) } : { done: true }
      }
      // Without a real stream, which costs more than the client does.
      const body = { getReader: () => ({ read, cancel: async () => {} }) }
      const fetch = async () => ({ status: 200, headers: new Headers(), body })
      const result = await client.withOptions({ fetch }).virtualAccounts.deactivate(account)
      look()
      process.stdout.write(JSON.stringify([result.data.length, peak / 1024]))`,
  )
  const [length, maxKilobytes] = JSON.parse(stdout)
  expect(length).toBe(9 * 1024 * 1024)
  expect(maxKilobytes).toBeLessThan(200_000)
})

test('10 MiB of numbers with 17 digits are read as these numbers', async () => {
  const values = Array.from({ length: 500_000 }, (_, index) => Math.sqrt(index + 2))
  const text = `[${values.map(value => value.toPrecision(17)).join(',')}]`
  const { client } = stubbed([() => new Response(text)])
  expect((await client.virtualAccounts.deactivate(account)).data).toEqual(values)
})
