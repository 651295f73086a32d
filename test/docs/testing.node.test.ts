import { expect, test, vi } from 'vitest'
import { account, run, service } from './guide.ts'
import { type Declared, snippet } from './snippets.ts'

// testing.md: blocks that declare tests, which are run here.

/** Enough of vitest to run the tests of a block within a test. */
class Runner {
  readonly passed: string[] = []
  readonly #tests = new Map<string, () => unknown>()
  readonly #hooks: Record<string, (() => unknown)[]> = {}

  readonly module: Declared = {
    expect,
    vi,
    test: (name: string, body: () => unknown) => this.#tests.set(name, body),
    ...Object.fromEntries(
      ['beforeAll', 'beforeEach', 'afterEach', 'afterAll'].map(name => {
        const hooks: (() => unknown)[] = []
        this.#hooks[name] = hooks
        return [name, (hook: () => unknown) => hooks.push(hook)]
      }),
    ),
  }

  async run(): Promise<void> {
    await this.#call('beforeAll')
    try {
      for (const [name, body] of this.#tests) {
        await this.#call('beforeEach')
        try {
          await body()
        } finally {
          await this.#call('afterEach')
        }
        this.passed.push(name)
      }
    } finally {
      await this.#call('afterAll')
    }
  }

  async #call(name: string): Promise<void> {
    for (const hook of this.#hooks[name] ?? []) await hook()
  }
}

/** Runs the tests of a block, and returns the names of those that passed. */
async function testsOf(code: string): Promise<string[]> {
  const runner = new Runner()
  await run(code, { vitest: () => runner.module })
  await runner.run()
  return runner.passed
}

test('with fetch', async () => {
  expect(await testsOf(snippet('testing.md', 'With fetch'))).toEqual(['deactivates an account'])
})

test('with MSW', async () => {
  // MSW leaves a fetch alone that is not the runtime's own.
  vi.unstubAllGlobals()
  expect(await testsOf(snippet('testing.md', 'With MSW'))).toEqual(['deactivates an account'])
})

test('a lost response', async () => {
  const passed = await testsOf(snippet('testing.md', 'Failures'))
  expect(passed).toEqual(['reports a lost response as an unknown outcome'])
})

test('retries without waiting', async () => {
  expect(await testsOf(snippet('testing.md', 'Retries without waiting'))).toEqual(['retries twice'])
})

test('a list that changes', async () => {
  const passed = await testsOf(snippet('testing.md', 'Lists that change'))
  expect(passed).toEqual(['notices that a transaction was removed'])
})

test('a fault of the network has no code: the outcome is unknown', async () => {
  service.fail({ times: 3, with: 'network-error' })
  const { client } = await run(snippet('options.md', 'The same client with other options'))
  await expect(client.virtualAccounts.deactivate(account)).rejects.toMatchObject({ outcomeUnknown: true })
})
