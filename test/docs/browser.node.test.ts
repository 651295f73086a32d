import { existsSync } from 'node:fs'
import type { Browser } from 'playwright'
import type { ClientOptions } from 'virtual-accounts'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { chromiumOptions } from '../../tools/chromium.js'
import { account, run, service } from './guide.ts'
import { root, snippet } from './snippets.ts'

// browser.md.

describe('a proxy that adds the key', () => {
  const origin = 'https://www.example.com'
  const isSignedIn = vi.fn(async () => true)

  async function createClient() {
    vi.stubGlobal('location', new URL(origin))
    const { proxy } = await run(snippet('browser.md', 'Let a proxy add the key', 2), {}, { isSignedIn })
    const { client } = await run(snippet('browser.md', 'Let a proxy add the key'), {
      'virtual-accounts': async () => {
        const { Client } = await import('virtual-accounts')
        const fetch = (url: string, init: RequestInit) => proxy(new Request(url, init))
        return {
          Client: class extends Client {
            constructor(options: ClientOptions) {
              super({ ...options, fetch })
            }
          },
        }
      },
    })
    return client
  }

  test('lists and writes pass through it, with their keys', async () => {
    const client = await createClient()
    const { idempotencyKey } = await client.virtualAccounts.deactivate(account)
    expect(service.isActive(account)).toBe(false)
    expect(service.requests.at(-1)?.headers.get('Idempotency-Key')).toBe(idempotencyKey)
  })

  test('who is not signed in gets a 401', async () => {
    const client = await createClient()
    isSignedIn.mockResolvedValueOnce(false)
    await expect(client.transactions.list()).rejects.toMatchObject({ status: 401 })
  })
})

describe.skipIf(!existsSync(chromiumOptions.executablePath))('in Chromium', () => {
  let browser: Browser
  beforeAll(async () => {
    const { chromium } = await import('playwright')
    browser = await chromium.launch(chromiumOptions)
  }, 60_000)
  afterAll(() => browser.close())

  test('a page without a bundler loads the package', { timeout: 60_000 }, async () => {
    const { build } = await import('esbuild')
    const options = { bundle: true, format: 'esm', write: false, absWorkingDir: root } as const
    const { outputFiles } = await build({ ...options, entryPoints: ['src/index.ts'] })
    const page = await browser.newPage()
    const problems: string[] = []
    const loaded: string[] = []
    page.on('pageerror', error => problems.push(error.message))
    await page.route('https://app.example.com/**', route => {
      const path = new URL(route.request().url()).pathname
      if (path === '/') {
        return route.fulfill({ contentType: 'text/html', body: snippet('browser.md', 'Without a bundler') })
      }
      loaded.push(path)
      return route.fulfill({ contentType: 'text/javascript', body: outputFiles[0]?.text ?? '' })
    })
    // Modules are run before the page counts as loaded.
    await page.goto('https://app.example.com/', { waitUntil: 'load' })
    expect(problems).toEqual([])
    expect(loaded).toContain('/virtual-accounts/index.js')
  })
})
