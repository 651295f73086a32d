import { readFile } from 'node:fs/promises'
import { expect, type Page } from '@playwright/test'
import { sampleTransactions } from '../../../dist/testing.js'
import { holdRequests, layoutShift, open, rows, serveList, test, toggleFault } from './page.ts'

const loaded = (page: Page) =>
  page.getByRole('progressbar').evaluate(bar => (bar as HTMLProgressElement).value)
const loadAll = (page: Page) => page.getByRole('button', { name: 'Load all' }).click()
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const list = (page: Page) => page.getByRole('region', { name: 'All loaded transactions' })
const announced = (page: Page) => page.getByRole('main').getByRole('status').first()

/** A list of 20,000 that stops growing after about 20 pages, until requests pass. */
async function loadPart(page: Page) {
  const requests = await holdRequests(page, { after: 20 })
  await open(page, 'everything', '?count=20000&latency=0')
  await loadAll(page)
  await expect.poll(() => loaded(page)).toBeGreaterThan(0)
  return requests
}

/** The ids in the file behind a button, and its name. */
async function downloaded(page: Page, name: string) {
  const [download] = await Promise.all([page.waitForEvent('download'), button(page, name).press('Enter')])
  const lines = (await readFile(await download.path(), 'utf8')).split('\r\n')
  return {
    name: download.suggestedFilename(),
    lines,
    ids: lines.slice(1, -1).map(line => line.split(',')[0]),
  }
}

/** The fake service's last three transactions are not samples. */
const idsOf = (count: number) => [
  ...sampleTransactions(count)
    .slice(0, -3)
    .map(({ id }) => id),
  ...['unusual-1', 'unusual-2', 'unusual-3'],
]

test('explains the button above it, and the button stays in its place', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 })
  await holdRequests(page, { after: 0 })
  await open(page, 'everything')
  const text = await page.getByText('Load all transactions to filter them').boundingBox()
  const load = await button(page, 'Load all').boundingBox()
  expect(text?.y).toBeLessThan(load?.y ?? 0)
  await loadAll(page)
  expect((await button(page, 'Cancel').boundingBox())?.y).toBe(load?.y)
})

test('loads 100,000 transactions, and renders only those in view', async ({ page }) => {
  await open(page, 'everything', '?count=100000&latency=0')
  await loadAll(page)
  await expect(page.getByText('100,000 of 100,000')).toBeVisible()
  await expect(page.getByText(/^Done in [\d.]+ s, [\d,]+ a second$/)).toBeVisible()
  const table = page.getByRole('table', { name: 'All loaded transactions' })
  await expect(table).toHaveAttribute('aria-rowcount', '100001')
  await list(page).focus()
  await page.keyboard.press('End')
  await expect(rows(page).last()).toHaveText(/@SUM\(1\+1\)/)
  await expect(rows(page).last()).toBeInViewport({ ratio: 0.9 })
  await expect(rows(page).last()).toHaveAttribute('aria-rowindex', '100001')
  expect(await rows(page).count()).toBeLessThan(30)
  // Not scrolled away.
  await expect(table.getByRole('columnheader', { name: 'Id' })).toBeInViewport({ ratio: 0.9 })

  await page.getByLabel('Filter what is loaded').fill('unusual-2 usd')
  await expect(rows(page)).toHaveCount(1)
  await expect(page.getByText('1 of 100,000')).toBeVisible()
})

test('shows exact sums, medians and percentiles per currency, and charts of one', async ({ page }) => {
  await open(page, 'everything', '?count=20000&latency=0')
  await loadAll(page)
  await expect(page.getByText('Verified: no transaction was missed', { exact: true })).toBeVisible()

  // In whole cents: the samples have two decimals at most. The last three are not samples.
  const cents = new Map<string, number[]>()
  const add = (currency: string, amount: number) =>
    cents.set(currency, [...(cents.get(currency) ?? []), amount])
  for (const { currency, amount } of sampleTransactions(20_000).slice(0, -3))
    add(currency, Math.round(amount * 100))
  add('EUR', -25_075)
  add('USD', 10)
  add('USD', 20)
  const expected = [...cents].sort().map(([currency, amounts]) => {
    const sorted = amounts.toSorted((one, other) => one - other)
    const rank = (percent: number) => sorted[Math.ceil((sorted.length * percent) / 100) - 1]
    const sum = amounts.reduce((total, amount) => total + BigInt(amount), 0n)
    return [currency, amounts.length, Number(sum), rank(50), rank(95)]
  })
  const inCents = (text: string) => Math.round(Number(text.replaceAll(',', '')) * 100)
  const figures = page.getByRole('table', { name: 'Figures per currency' }).getByRole('row')
  const shown = (await figures.allInnerTexts()).slice(1).map(row => {
    const [currency = '', count = '', ...amounts] = row.split(/\s+/)
    return [currency, Number(count.replaceAll(',', '')), ...amounts.map(inCents)]
  })
  expect(shown).toEqual(expected)

  await page.getByLabel('Amounts in').selectOption('EUR')
  const sizes = page.getByRole('img', { name: 'number of transactions per range of amounts, in EUR' })
  await expect(sizes).toHaveAccessibleName(/: below 0: 1; 0 to 1: \d+; 1 to 10: \d+; /)
  await expect(page.getByRole('img', { name: 'sum in EUR by position in the list' })).toBeVisible()
})

test('claims nothing about sums and file before the list is complete', async ({ page }) => {
  const requests = await loadPart(page)
  await expect(page.getByText('Sums cover what is loaded so far.')).toBeVisible()
  await button(page, 'Cancel').click()
  await expect(page.getByText('Only part of the list is loaded.')).toBeVisible()
  await expect(page.getByText(/exact|complete|verified/i)).toHaveCount(0)
  const count = await loaded(page)
  const part = await downloaded(page, 'Download partial CSV')
  expect(part.name).toBe(`transactions-partial-${count}-of-20000.csv`)
  expect(part.ids).toEqual(idsOf(20_000).slice(0, count))

  await requests.pass()
  await button(page, 'Resume').click()
  await expect(page.getByText('20,000 of 20,000')).toBeVisible()
  const all = await downloaded(page, 'Download CSV')
  expect(all.name).toBe('transactions-all-20000.csv')
  expect(all.ids).toEqual(idsOf(20_000))
  await expect(button(page, 'Download CSV')).toBeFocused()
})

test('a service that ignores smaller limits cannot be verified, and the page says so', async ({ page }) => {
  await page.route('**/api/transactions*', route => {
    const number = Number(new URL(route.request().url()).searchParams.get('page'))
    const data = sampleTransactions(500).slice((number - 1) * 50, number * 50)
    return route.fulfill({ json: { data, page: number, totalItems: 500, limit: 50 } })
  })
  await open(page, 'everything', '?service=/api')
  await loadAll(page)
  await expect(page.getByRole('alert')).toContainText('The list may be incomplete')
  await expect(button(page, 'Start over')).toBeVisible()
  await expect(page.getByText(/^Stopped, /)).toBeVisible()
})

test('resumes where it failed, with nothing twice and nothing missing', async ({ page }) => {
  const requests = await loadPart(page)
  await toggleFault(page, 'Invalid page')
  await requests.pass()
  await expect(page.getByRole('alert')).toContainText('The service sent something unexpected')
  await toggleFault(page, 'Invalid page')
  await button(page, 'Resume').click()
  await expect(page.getByText('20,000 of 20,000')).toBeVisible()
  await expect(page.getByRole('alert')).toHaveCount(0)
  expect((await downloaded(page, 'Download CSV')).ids).toEqual(idsOf(20_000))
})

test('resumes a list that changed meanwhile, with what it has', async ({ page }) => {
  const before = sampleTransactions(3000)
  let items = before
  let isHeld = true
  await serveList(page, () => items)
  // All beyond about a third wait until loading is cancelled.
  await page.route('**/api/transactions*', route => {
    const query = new URL(route.request().url()).searchParams
    const end = Number(query.get('page')) * Number(query.get('limit'))
    return isHeld && end > 1000 ? undefined : route.fallback()
  })
  await open(page, 'everything', '?service=/api')
  await loadAll(page)
  await expect.poll(() => loaded(page)).toBeGreaterThan(500)
  await button(page, 'Cancel').click()
  await expect(button(page, 'Resume')).toBeVisible()

  items = [...before.slice(150), { id: 'new', amount: 1, currency: 'EUR', description: 'New' }]
  isHeld = false
  await button(page, 'Resume').click()
  await expect(page.getByText('3,001 of 3,001')).toBeVisible()
  expect((await downloaded(page, 'Download CSV')).ids).toEqual([...before.map(({ id }) => id), 'new'])
})

test('progress is announced, also when the view is returned to', async ({ page }) => {
  const requests = await loadPart(page)
  await expect(announced(page)).toHaveText('Loading, 0 % done')
  await page.getByRole('link', { name: 'Accounts' }).click()
  await page.getByRole('link', { name: 'All transactions' }).click()
  await expect(announced(page)).toHaveText(/^Loading, \d % done$/)
  await requests.pass()
  await expect(announced(page)).toHaveText('Complete: 20,000 transactions loaded')
})

for (const width of [1280, 390, 320]) {
  test(`nothing moves while loading, nor when it ends or fails, ${width} pixels wide`, async ({ page }) => {
    await page.setViewportSize({ width, height: 860 })
    const requests = await loadPart(page)
    const cancelled = await button(page, 'Cancel').boundingBox()
    const place = () => page.getByRole('region', { name: 'Loaded transactions' }).first().boundingBox()
    const below = await place()
    await requests.pass()
    await expect(page.getByRole('img').nth(1)).toBeVisible()
    expect(await place()).toEqual(below)
    // No click meant for Cancel downloads a file.
    const download = await button(page, 'Download CSV').boundingBox()
    expect(download?.y).toBe(cancelled?.y)
    expect(download?.x).toBeGreaterThan((cancelled?.x ?? 0) + (cancelled?.width ?? 0))

    await requests.pass(20)
    await button(page, 'Load again').click()
    await expect.poll(() => loaded(page)).toBeLessThan(20_000)
    await toggleFault(page, 'Invalid page')
    await requests.pass()
    await expect(page.getByRole('alert')).toBeVisible()
    expect(await layoutShift(page)).toBeLessThan(0.05)
  })
}

test('a failure is in view wherever the list is scrolled to', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 })
  const requests = await loadPart(page)
  await toggleFault(page, 'Invalid page')
  await button(page, 'Cancel').focus()
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
  await requests.pass()
  await expect(page.getByRole('alert')).toBeInViewport({ ratio: 1 })
  await expect(button(page, 'Resume')).toBeInViewport({ ratio: 1 })
})

test('the focus stays on the button that loads, cancels and resumes', async ({ page }) => {
  const requests = await holdRequests(page, { after: 0 })
  await open(page, 'everything')
  await button(page, 'Load all').press('Enter')
  await expect(button(page, 'Cancel')).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(button(page, 'Load all')).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(button(page, 'Cancel')).toBeFocused()
  await requests.pass()
  await expect(page.getByText('2,000 of 2,000')).toBeVisible()
  // Not on the button that downloads: an Enter that was meant for Cancel would press it.
  await expect(page.getByRole('main')).toBeFocused()
})

test('a double click does not start and cancel, nor cancel and resume', async ({ page }) => {
  await holdRequests(page, { after: 20 })
  await open(page, 'everything', '?count=20000&latency=0')
  await button(page, 'Load all').dblclick()
  await expect.poll(() => loaded(page)).toBeGreaterThan(0)
  await button(page, 'Cancel').click({ clickCount: 2, delay: 50 })
  await expect(page.getByText(/^Cancelled, /)).toBeVisible()
  await expect(button(page, 'Resume')).toBeVisible()
})

test('keeps what is loaded, and its place, when another view is looked at', async ({ page }) => {
  await open(page, 'everything')
  await loadAll(page)
  const again = button(page, 'Load again')
  await expect(again).toBeVisible()
  await list(page).evaluate(element => element.scrollTo(0, 44_000))
  await expect(rows(page).first()).toHaveAttribute('aria-rowindex', '1002')
  await page.getByRole('link', { name: 'Accounts' }).click()
  await expect(list(page)).toHaveCount(0)
  await page.goBack()
  await expect(rows(page).first()).toHaveAttribute('aria-rowindex', '1002')
  // A filter shows its first match. Without one, the list is where it was.
  const filter = page.getByLabel('Filter what is loaded')
  await filter.fill('order')
  await expect(rows(page).first()).toHaveAttribute('aria-rowindex', '2')
  await filter.fill('')
  await expect(rows(page).first()).toHaveAttribute('aria-rowindex', '1002')
  // The new list is at its first row.
  await again.click()
  await expect(again).toBeVisible()
  await expect(rows(page).first()).toHaveAttribute('aria-rowindex', '2')
})

test('an empty list is said to be empty, and gives no file', async ({ page }) => {
  await open(page, 'everything', '?count=0&latency=0')
  await loadAll(page)
  await expect(page.getByRole('heading', { name: 'The list is empty' })).toBeVisible()
  await expect(page.getByRole('button', { name: /^Download/ })).toHaveCount(0)
})

test('offers a CSV file that spreadsheets open and do not run', async ({ page }) => {
  await open(page, 'everything')
  await loadAll(page)
  const { lines } = await downloaded(page, 'Download CSV')
  expect(lines[0]).toBe('\ufeffid,amount,currency,description')
  const samples = sampleTransactions(2000).slice(0, -3)
  expect(lines.slice(1)).toEqual([
    ...samples.map(({ id, amount, currency, description }) => `${id},${amount},${currency},${description}`),
    'unusual-1,-250.75,EUR,"Refund, ""partly"""',
    `unusual-2,0.1,USD,"'=HYPERLINK(""https://example.com"";""Click"")"`,
    "unusual-3,0.2,USD,'@SUM(1+1)",
    '',
  ])
})
