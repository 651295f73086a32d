import { test as base, type CDPSession, expect, type Locator, type Page } from '@playwright/test'

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

export function faultSwitch(page: Page, name: string) {
  return page.getByRole('switch', { name })
}

export async function open(page: Page, view: string, query = '?count=2000&latency=0') {
  await page.goto(`/${query}#${view}`)
}

/**
 * From the next `open` on, the fake service gets only so many requests; those after them wait for `pass`. What a test
 * looks at in between lasts as long as it looks, however slow the machine is.
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
  /** Lets so many more pass, or all. */
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

/** What the browser says is wrong with a field, and tells assistive technology; empty if nothing is. */
export function validationMessage(field: Locator): Promise<string> {
  return field.evaluate(element => (element as HTMLInputElement).validationMessage)
}

/** The browser as on a machine that is four times as slow. */
export async function throttle(page: Page): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page)
  await session.send('Emulation.setCPUThrottlingRate', { rate: 4 })
  return session
}

/** Cumulative Layout Shift as the browser reports it: https://web.dev/articles/cls. */
export async function layoutShift(page: Page): Promise<number> {
  // Entries are delivered after the frame that has shifted.
  await page.waitForTimeout(200)
  return page.evaluate(() => {
    let [worst, sum, first, last] = [0, 0, 0, 0]
    for (const { value, startTime } of (globalThis as unknown as { shifts: Shift[] }).shifts) {
      // Shifts less than 1 s apart and within 5 s count as one.
      const continues = startTime - last < 1000 && startTime - first < 5000
      if (!continues) first = startTime
      sum = continues ? sum + value : value
      last = startTime
      worst = Math.max(worst, sum)
    }
    return worst
  })
}

export async function forgetLayoutShifts(page: Page) {
  // What moved just now is reported late.
  await page.waitForTimeout(200)
  await page.evaluate(() => (globalThis as unknown as { shifts: Shift[] }).shifts.splice(0))
}

/** The names that the browser gives to assistive technology, of everything with this role. */
export async function accessibleNames(page: Page, role: string): Promise<string[]> {
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  await session.detach()
  return nodes.filter(node => node.role?.value === role && !node.ignored).map(({ name }) => name?.value)
}

type Shift = PerformanceEntry & { value: number; hadRecentInput: boolean }

function observeLayoutShifts() {
  const shifts: Shift[] = []
  Object.assign(globalThis, { shifts })
  new PerformanceObserver(list => {
    for (const entry of list.getEntries() as Shift[]) if (!entry.hadRecentInput) shifts.push(entry)
  }).observe({ type: 'layout-shift', buffered: true })
}
