import { expect, type Page } from '@playwright/test'
import { sampleTransactions } from '../../../dist/testing.js'
import { money } from '../src/format.ts'
import { holdRequests, layoutShift, open, rows, serveList, test, toggleFault } from './page.ts'

const samples = sampleTransactions(2000)
/** The announcement of the page, which is before that of the filter. */
const announced = (page: Page) => page.getByRole('main').getByRole('status').first()
const waitedFor = (page: Page) => page.getByRole('status', { name: 'What the client waits for' })
const picker = (page: Page) => page.getByRole('textbox', { name: 'Page' })
const pager = (page: Page) => page.getByRole('navigation', { name: 'Pages' })
const turn = (page: Page, to: string) => page.getByRole('button', { name: `${to} page` }).click()
const calls = (page: Page) => page.getByRole('list', { name: 'Latest calls' }).getByRole('listitem')
const idOf = (index: number) => samples[index]?.id ?? ''

async function openLoaded(page: Page, view = 'transactions') {
  await open(page, view)
  await expect(rows(page).first()).toBeVisible()
}

test('shows the first page, how many there are, and the next page at once', async ({ page }) => {
  await openLoaded(page)
  await expect(page.getByText('2,000 transactions', { exact: true })).toBeVisible()
  await expect(rows(page)).toHaveCount(25)
  await expect(rows(page).first()).toContainText(idOf(0))
  await expect(pager(page)).toContainText('of 80')
  await expect(page.getByRole('cell', { name: '4,841,890', exact: true })).toBeVisible()
  await expect(calls(page)).toContainText([/items 26–50.*200 in/s, /items 1–25.*200 in/s])

  await turn(page, 'Next')
  await expect(rows(page).first()).toContainText(idOf(25))
  await expect(calls(page)).toContainText([/items 51–75/, /items 26–50/, /items 1–25/])
})

for (const width of [1280, 768, 390]) {
  test(`nothing moves when the first page arrives late, ${width} pixels wide`, async ({ page }) => {
    await page.setViewportSize({ width, height: 860 })
    const requests = await holdRequests(page, { after: 0 })
    await open(page, 'transactions')
    await expect(page.locator('.placeholder')).toHaveCount(25)
    const card = page.locator('.card').first()
    const before = await card.boundingBox()
    await requests.pass()
    await expect(rows(page)).toHaveCount(25)
    expect(await card.boundingBox()).toEqual(before)
    expect(await layoutShift(page)).toBeLessThan(0.05)
  })
}

test('a slow page is announced, and said to be waited for', async ({ page }) => {
  // The first page, and the second, which is prefetched.
  const requests = await holdRequests(page, { after: 2 })
  await open(page, 'transactions')
  await expect(announced(page)).toHaveText('Page 1 of 80, 2,000 transactions')
  await expect(waitedFor(page)).toHaveText('')

  await turn(page, 'Last')
  await expect(announced(page)).toHaveText('Loading page 80…')
  await expect(pager(page)).toHaveAttribute('aria-busy', 'true')
  await expect(waitedFor(page)).toHaveText('Waiting for the service')
  await requests.pass()
  await expect(announced(page)).toHaveText('Page 80 of 80, 2,000 transactions')
  await expect(waitedFor(page)).toHaveText('')
  expect(await layoutShift(page)).toBeLessThan(0.05)
})

test('the wait for a retry is announced above the heading, with the time until it is made', async ({
  page,
}) => {
  await page.setViewportSize({ width: 320, height: 844 })
  await openLoaded(page)
  await toggleFault(page, 'Overloaded')
  await expect(waitedFor(page)).toHaveText('HTTP 503: the client retries')
  await page.evaluate(() => scrollTo(0, 0))
  const said = await waitedFor(page).boundingBox()
  const heading = await page.getByRole('heading', { level: 1 }).boundingBox()
  expect((said?.y ?? 0) + (said?.height ?? 0)).toBeLessThan(heading?.y ?? 0)
  await expect(page.getByText(/^in \d s$/)).toBeVisible()
  await expect(calls(page).first()).toContainText('HTTP 503, retry in 5,000 ms')
  await toggleFault(page, 'Overloaded')
  await expect(waitedFor(page)).toHaveText('')
  await expect(page.getByRole('alert')).toHaveCount(0)
})

test('the activity calls a cancelled request cancelled', async ({ page }) => {
  await holdRequests(page, { after: 0 })
  await open(page, 'transactions')
  await expect(calls(page).first()).toContainText('items 1–25')
  await page.getByLabel('Rows per page').selectOption('100')
  await expect(calls(page).filter({ hasText: '– cancelled' })).toHaveCount(1)
  await expect(page.getByRole('alert')).toHaveCount(0)
})

test('heads stay in view while rows scroll', async ({ page }) => {
  await openLoaded(page)
  await page.evaluate(() => scrollTo(0, 600))
  const head = await page.getByRole('columnheader', { name: 'Description' }).boundingBox()
  expect(head?.y).toBeCloseTo((await page.getByRole('banner').boundingBox())?.height ?? 0, 0)
  await expect(page.getByRole('columnheader', { name: 'Description' })).toBeInViewport({ ratio: 0.9 })
})

test('turns to any page, back, to the last and no further', async ({ page }) => {
  await openLoaded(page)
  for (const wrong of ['2.5', '-5', '1e3', '0', 'page 7']) {
    await picker(page).fill(wrong)
    await picker(page).press('Enter')
    expect(await picker(page).evaluate(field => (field as HTMLInputElement).validationMessage)).not.toBe('')
    await picker(page).press('Escape')
    await expect(picker(page)).toHaveValue('1')
  }
  await picker(page).fill('42')
  await picker(page).press('Enter')
  await expect(rows(page).first()).toContainText(idOf(41 * 25))
  await expect(picker(page)).toBeFocused()
  await turn(page, 'Previous')
  await expect(picker(page)).toHaveValue('41')
  await page.goBack()
  await expect(picker(page)).toHaveValue('42')

  await turn(page, 'Last')
  await expect(rows(page).last()).toContainText('@SUM(1+1)')
  await expect(page.getByRole('button', { name: 'Next page' })).toBeDisabled()
  await picker(page).fill('99999')
  await picker(page).press('Enter')
  await expect(picker(page)).toHaveValue('80')
})

test('a URL beyond the end leads to the last page, and its invalid parts are dropped', async ({ page }) => {
  await openLoaded(page, 'transactions?page=99999')
  await expect(rows(page).last()).toContainText('@SUM(1+1)')
  await expect(page).toHaveURL(/#transactions\?page=80$/)
  for (const wrong of ['nope', 'transactions?page=abc', 'transactions?page=0&limit=7&else=1']) {
    await openLoaded(page, wrong)
    await expect(page).toHaveURL(/#transactions$/)
  }
})

test('keeps the first row in view when pages change their size, also over a reload', async ({ page }) => {
  await openLoaded(page, 'transactions?page=5&limit=50')
  await expect(rows(page).first()).toContainText(idOf(200))
  await page.getByLabel('Rows per page').selectOption('100')
  await expect(rows(page)).toHaveCount(100)
  await expect(rows(page).first()).toContainText(idOf(200))
  await page.reload()
  await expect(picker(page)).toHaveValue('3')
  await expect(rows(page)).toHaveCount(100)
})

test('an empty list is said to be empty, and the focus is on the view once it has something', async ({
  page,
}) => {
  let items: object[] = []
  await serveList(page, () => items)
  await open(page, 'transactions', '?service=/api')
  await expect(page.getByRole('heading', { name: 'No transactions yet' })).toBeVisible()
  await expect(pager(page)).toHaveCount(0)
  items = samples.slice(0, 3)
  await page.getByRole('button', { name: 'Check again' }).press('Enter')
  await expect(rows(page)).toHaveCount(3)
  await expect(page.getByRole('main')).toBeFocused()
})

test('filters what is on the page, and announces how much of it matches', async ({ page }) => {
  await openLoaded(page)
  const filter = page.getByLabel('Filter this page')
  const matching = page.getByRole('main').getByRole('status').nth(1)
  const ofPage = samples.slice(0, 25)
  // Every word, in any column.
  const orders = ofPage.filter(item => item.currency === 'EUR' && /order/i.test(item.description))
  await filter.fill(' order  eur')
  await expect(rows(page)).toHaveCount(orders.length)
  await expect(matching).toHaveText(`${orders.length} of 25`)
  for (const amount of ['4,841,890', '4841890']) {
    await filter.fill(amount)
    await expect(rows(page)).toHaveCount(1)
  }
  await filter.fill('no such thing')
  await expect(page.getByText('No transaction on this page matches “no such thing”.')).toBeVisible()
  await page.getByRole('button', { name: 'Clear the filter' }).press('Enter')
  await expect(rows(page)).toHaveCount(25)
  await expect(matching).toHaveText('')
  await expect(filter).toBeFocused()
})

for (const width of [1280, 390, 320]) {
  test(`no row moves while a filter is typed, ${width} pixels wide`, async ({ page }) => {
    await page.setViewportSize({ width, height: 844 })
    await openLoaded(page)
    const filter = page.getByLabel('Filter this page')
    const places = async () => [
      (await rows(page).first().boundingBox())?.y,
      (await pager(page).boundingBox())?.y,
    ]
    const before = await places()
    for (const letter of 'refund') {
      await filter.press(letter)
      await expect(page.getByText(/^\d+ of 25$/)).toBeVisible()
      expect(await places()).toEqual(before)
    }
    await filter.fill('no such thing')
    await expect(page.getByText('0 of 25')).toBeVisible()
    expect((await pager(page).boundingBox())?.y).toBe(before[1])
  })
}

test('money has the decimals of its currency, and never fewer digits than were sent', () => {
  for (const [amount, currency, text] of [
    [58.2, 'EUR', '58.20'],
    [-0.1, 'USD', '-0.10'],
    [4_841_890, 'JPY', '4,841,890'],
    [0.5, 'JPY', '0.5'],
    [1.2345, 'EUR', '1.2345'],
    [7, 'KWD', '7.000'],
    [58.2, 'points', '58.2'],
    [1e21, 'EUR', '1e+21'],
    ['12345678901234567.891', 'USD', '12,345,678,901,234,567.891'],
    ['0.10000', 'EUR', '0.10000'],
    ['1e400', 'EUR', '1e400'],
    ['unknown', 'EUR', 'unknown'],
  ] as const) {
    expect(money(amount, currency)).toBe(text)
  }
})

test('the views share the page, its size and the filter', async ({ page }) => {
  await openLoaded(page, 'transactions?page=2&limit=50')
  await page.getByLabel('Filter this page').fill('refund')
  await expect(page).toHaveURL(/#transactions\?page=2&limit=50&filter=refund$/)
  await page.getByRole('link', { name: 'All transactions' }).click()
  await expect(page).toHaveURL(/#everything\?page=2&limit=50&filter=refund$/)
  await page.getByRole('button', { name: 'Load all' }).click()
  const filter = page.getByLabel('Filter what is loaded')
  await expect(filter).toHaveValue('refund')
  await filter.fill('top-up')
  await expect(page).toHaveURL(/filter=top-up$/)
  await page.getByRole('link', { name: 'Accounts' }).click()
  await page.reload()
  await page.getByRole('link', { name: 'Transactions', exact: true }).click()
  await expect(page.getByLabel('Filter this page')).toHaveValue('top-up')
  await expect(picker(page)).toHaveValue('2')
})

test('can be used by keyboard alone', async ({ page }) => {
  await openLoaded(page)
  const next = page.getByRole('button', { name: 'Next page' })
  for (let presses = 0; presses < 20; presses++) {
    await page.keyboard.press('Tab')
    if (await next.evaluate(element => element === document.activeElement)) break
  }
  await page.keyboard.press('Enter')
  await page.keyboard.press('Enter')
  await expect(picker(page)).toHaveValue('3')
  await expect(next).toBeFocused()

  const offline = page.getByRole('checkbox', { name: 'No network' })
  await offline.press('Space')
  await expect(offline).toBeChecked()
  await expect(offline).toHaveAccessibleDescription('No request reaches the service.')
  await expect(page.getByRole('alert')).toBeVisible()
  await offline.press('Space')
  await page.getByRole('button', { name: 'Try again' }).press('Enter')
  await expect(page.getByRole('alert')).toHaveCount(0)
  await expect(page.getByRole('main')).toBeFocused()
})

test('a failed page turn keeps the last page, dimmed, and the total, and moves nothing', async ({ page }) => {
  await openLoaded(page)
  const places = async () => [await rows(page).first().boundingBox(), await pager(page).boundingBox()]
  const before = await places()
  const cell = rows(page).first().locator('.description')
  const colour = await cell.evaluate(element => getComputedStyle(element).color)
  await toggleFault(page, 'No network')
  await turn(page, 'Last')
  const alert = page.getByRole('alert')
  await expect(alert).toContainText('Page 80 was not loaded. The rows are still those of page 1.')
  await expect(page.getByText('2,000 transactions', { exact: true })).toBeVisible()
  await expect(rows(page).first()).toContainText(idOf(0))
  await expect(cell).not.toHaveCSS('color', colour)
  expect(await places()).toEqual(before)
  expect(await layoutShift(page)).toBeLessThan(0.05)

  await toggleFault(page, 'No network')
  await page.getByRole('button', { name: 'Back to page 1' }).click()
  await expect(alert).toHaveCount(0)
  await expect(cell).toHaveCSS('color', colour)
})

test('a failure that is switched on while a page is loaded is seen, too', async ({ page }) => {
  await open(page, 'transactions', '?count=2000&latency=500')
  await expect(rows(page).first()).toBeVisible()
  await turn(page, 'Last')
  await toggleFault(page, 'No network')
  await expect(page.getByRole('alert')).toContainText('Page 80 was not loaded.')
})

for (const width of [1280, 390]) {
  test(`a failure is in view and covers no row for good, ${width} pixels wide`, async ({ page }) => {
    await page.setViewportSize({ width, height: 844 })
    await openLoaded(page, 'transactions?limit=10')
    await toggleFault(page, 'Rate limited')
    const alert = page.getByRole('alert')
    await expect(alert).toContainText('Too many requests')
    await page.getByRole('main').evaluate(main => main.scrollIntoView({ block: 'end' }))
    await expect(alert).toBeInViewport({ ratio: 1 })
    const panel = await page.locator('.problem').boundingBox()
    const last = await rows(page).last().boundingBox()
    expect((last?.y ?? 0) + (last?.height ?? 0)).toBeLessThanOrEqual(panel?.y ?? 0)

    await page.getByRole('button', { name: 'Dismiss' }).click()
    await expect(alert).toHaveCount(0)
    await expect(page.getByRole('main')).toBeFocused()
    await expect(page.getByText(/^2,000 transactions, loaded at \d.*\d\d:\d\d:\d\d$/)).toBeVisible()
  })
}

test('in a low window neither the header nor the pager covers rows', async ({ page }) => {
  await page.setViewportSize({ width: 640, height: 400 })
  await openLoaded(page)
  await expect(pager(page)).not.toBeInViewport()
  await page.evaluate(() => scrollTo(0, 500))
  await expect(page.getByRole('banner')).not.toBeInViewport()
})

test('a first page that fails leaves nothing that looks like loading', async ({ page }) => {
  await page.route('**/api/transactions*', route => route.fulfill({ json: [] }))
  await open(page, 'transactions', '?service=/api')
  await expect(page.getByRole('alert')).toContainText('The service sent something unexpected')
  await expect(page.getByText('Not loaded')).toBeVisible()
  await expect(page.locator('.placeholder')).toHaveCount(0)
  await page.unroute('**/api/transactions*')
  const requested = await serveList(page, () => samples.slice(0, 3))
  await page.getByRole('button', { name: 'Try again' }).click()
  await expect(rows(page)).toHaveCount(3)
  // A real service gets no key from the page.
  expect(requested).toEqual([{ url: '/api/transactions?page=1&limit=25', key: undefined }])
  await expect(page.getByRole('checkbox')).toHaveCount(0)
})

for (const [fault, title, isRetryable] of [
  ['No network', 'The connection to the service failed', true],
  ['Wrong API key', 'The service rejected the API key', false],
  ['Invalid page', 'The service sent something unexpected', false],
] as const) {
  test(`recommends a retry only where it can help: ${fault}`, async ({ page }) => {
    await openLoaded(page)
    await toggleFault(page, fault)
    await expect(page.getByRole('alert')).toContainText(title)
    const again = page.getByRole('button', { name: 'Try again' })
    await expect(again).toHaveClass(isRetryable ? 'primary' : '')
    await toggleFault(page, fault)
    await again.click()
    await expect(page.getByRole('alert')).toHaveCount(0)
  })
}

test('waits as long as the service asks, and says until when', async ({ page }) => {
  await page.clock.install({ time: '2026-11-21T15:00:00' })
  await openLoaded(page)
  await toggleFault(page, 'Rate limited')
  await expect(page.getByRole('alert')).toContainText(/The service asks you to wait until 15:0\d:\d\d\./)
  const again = page.getByRole('button', { name: 'Try again' })
  await expect(again).toBeDisabled()
  await toggleFault(page, 'Rate limited')
  await page.clock.fastForward(121_000)
  await again.click()
  await expect(page.getByRole('alert')).toHaveCount(0)
})

for (const elsewhere of ['https://example.com', '//example.com', '/\\example.com']) {
  test(`uses no service elsewhere, and leads back to one that works: ${elsewhere}`, async ({ page }) => {
    await open(page, 'transactions', `?service=${encodeURIComponent(elsewhere)}`)
    await expect(page.getByRole('alert')).toContainText('such as /api')
    await page.getByRole('button', { name: 'Use the fake service' }).click()
    await expect(rows(page)).toHaveCount(25)
  })
}
