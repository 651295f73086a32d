import { test as base, expect, type Page } from '@playwright/test'

/** A test that also fails when the page writes an error to the console, or throws one. */
export const test = base.extend({
  page: async ({ page }, use) => {
    const errors: string[] = []
    page.on('console', message => {
      if (message.type() === 'error') errors.push(message.text())
    })
    page.on('pageerror', error => errors.push(error.message))
    await page.addInitScript(observeLayoutShifts)
    await use(page)
    expect(errors).toEqual([])
  },
})

/** Rows of transactions that are in the document, without the head and placeholders. */
export function rows(page: Page) {
  return page.getByRole('table', { name: /transactions/i }).locator('tbody tr:not(.placeholder)')
}

/** On narrow screens, the switches are closed at first. */
export async function toggleFault(page: Page, name: string) {
  const closed = page.locator('aside details:not([open]) summary')
  if (await closed.isVisible()) await closed.click()
  await page.getByRole('checkbox', { name }).click()
}

export async function open(page: Page, view: string, query = '?count=2000&latency=0') {
  await page.goto(`/${query}#${view}`)
}

/**
 * From the next `open` on, the fake service gets only this many requests. Later ones wait for `pass`, so what a
 * test looks at in between does not change meanwhile, however slow the machine is.
 */
export async function holdRequests(page: Page, { after }: { after: number }) {
  await page.addInitScript(after => {
    const { postMessage } = Worker.prototype
    const held: (() => void)[] = []
    let free = after
    const pass = (count: number) => {
      for (free = count; free > 0 && held.length > 0; free--) held.shift()?.()
    }
    Worker.prototype.postMessage = function (message: { type: string }) {
      const send = () => postMessage.call(this, message)
      if (message.type !== 'request') send()
      else if (free > 0) {
        free--
        send()
      } else held.push(send)
    }
    Object.assign(globalThis, { pass })
  }, after)
  /** Lets this many more pass, or all. */
  const pass = (count = Number.POSITIVE_INFINITY) =>
    page.evaluate(count => (globalThis as unknown as { pass: (count: number) => void }).pass(count), count)
  return { pass }
}

/** A service behind `?service=/api`, whose list is `items` at each moment. */
export async function serveList(page: Page, items: () => readonly object[]) {
  const requested: { url: string; key: string | undefined }[] = []
  await page.route('**/api/transactions*', async route => {
    const request = route.request()
    const url = new URL(request.url())
    requested.push({ url: url.pathname + url.search, key: request.headers()['api-key'] })
    const number = Number(url.searchParams.get('page'))
    const limit = Number(url.searchParams.get('limit'))
    const data = items().slice((number - 1) * limit, number * limit)
    await route.fulfill({ json: { data, page: number, totalItems: items().length, limit } })
  })
  return requested
}

/** Cumulative Layout Shift as the browser reports it, of all shifts: https://web.dev/articles/cls. */
export async function layoutShift(page: Page): Promise<number> {
  // Entries are delivered after the frame that has shifted.
  await page.waitForTimeout(200)
  return page.evaluate(() => (globalThis as unknown as { shift: { sum: number } }).shift.sum)
}

function observeLayoutShifts() {
  const shift = { sum: 0 }
  Object.assign(globalThis, { shift })
  type Shift = PerformanceEntry & { value: number; hadRecentInput: boolean }
  new PerformanceObserver(list => {
    for (const { hadRecentInput, value } of list.getEntries() as Shift[])
      if (!hadRecentInput) shift.sum += value
  }).observe({ type: 'layout-shift', buffered: true })
}
