import { expect, type Page } from '@playwright/test'
import { sampleTransactions } from '../../../dist/testing.js'
import {
  accessibleNames,
  faultSwitch,
  holdRequests,
  layoutShift,
  open,
  rows,
  serveList,
  test,
  validationMessage,
} from './page.ts'

const samples = sampleTransactions(2000)
/** The announcement of the page, which is before that of the filter. */
const announced = (page: Page) => page.getByRole('status').first()
const picker = (page: Page) => page.getByRole('textbox', { name: 'Page' })
const calls = (page: Page) => page.getByRole('region', { name: 'Client activity' }).getByRole('listitem')

test('shows the first page, and how many there are', async ({ page }) => {
  await open(page, 'transactions')
  await expect(page.getByText('2,000 transactions', { exact: true })).toBeVisible()
  await expect(rows(page)).toHaveCount(25)
  await expect(rows(page).first()).toContainText(samples[0]?.id ?? '')
  await expect(page.getByRole('navigation', { name: 'Pages' })).toContainText('of 80')
})

for (const width of [1280, 768, 390, 320]) {
  test(`nothing moves when the first page arrives late, ${width} pixels wide`, async ({ page }) => {
    await page.setViewportSize({ width, height: 860 })
    const requests = await holdRequests(page, { after: 0 })
    await open(page, 'transactions')
    await expect(page.getByText('Loading…', { exact: true })).toBeVisible()
    await expect(page.locator('.placeholder')).toHaveCount(25)
    const card = page.locator('.card').first()
    const before = await card.boundingBox()
    await requests.pass()
    await expect(rows(page)).toHaveCount(25)
    expect(await card.boundingBox()).toEqual(before)
    expect(await layoutShift(page)).toBeLessThan(0.05)
  })
}

test('assistive technology reads an amount as one number', async ({ page }) => {
  await open(page, 'transactions')
  await expect(rows(page)).toHaveCount(25)
  const names = await accessibleNames(page, 'cell')
  expect(names.filter((_, index) => index % 4 === 3).slice(0, 3)).toEqual(['4,841,890', '97.76', '19.74'])
})

test('figures end below the end of their head, and decimal points are below each other', async ({ page }) => {
  await open(page, 'transactions')
  await expect(rows(page)).toHaveCount(25)
  const places = await page.locator('th.amount, td.amount').evaluateAll(cells =>
    cells.map(({ firstChild }) => {
      const text = firstChild?.textContent ?? ''
      const range = document.createRange()
      range.selectNode(firstChild as Node)
      const { right } = range.getBoundingClientRect()
      const point = text.indexOf('.')
      if (point === -1) return { text, right, point: right }
      range.setStart(firstChild as Node, point)
      return { text, right, point: range.getBoundingClientRect().left }
    }),
  )
  const [head, ...amounts] = places
  const ends = amounts.filter(({ text }) => /\.\d\d$/.test(text)).map(({ right }) => Math.round(right))
  expect(new Set([Math.round(head?.right ?? 0), ...ends]).size).toBe(1)
  expect(amounts.map(({ text }) => text)).toContain('4,841,890')
  expect(new Set(amounts.map(({ point }) => Math.round(point))).size).toBe(1)
})

test('says once why an amount may have fewer decimals', async ({ page }) => {
  await open(page, 'transactions')
  await expect(page.getByText('Amounts keep the decimals the service sent (58.2, not 58.20).')).toHaveCount(1)
  await open(page, 'everything')
  await page.getByRole('button', { name: 'Load all' }).click()
  await expect(page.getByRole('img').nth(1)).toBeVisible()
  await expect(page.getByText('Trailing zeros are not shown.')).toHaveCount(1)
})

test('a slow page turn is shown, and announced when it begins and when it ends', async ({ page }) => {
  // The first page, and the second, which is prefetched.
  const requests = await holdRequests(page, { after: 2 })
  await open(page, 'transactions')
  await expect(announced(page)).toHaveText('Page 1 of 80, 2,000 transactions')
  const pager = page.getByRole('navigation', { name: 'Pages' })
  const bar = () => pager.evaluate(element => getComputedStyle(element, '::before').content)
  expect(await bar()).toBe('none')

  await page.getByRole('button', { name: 'Last page' }).click()
  await expect(announced(page)).toHaveText('Loading page 80…')
  await expect(pager).toHaveAttribute('aria-busy', 'true')
  expect(await bar()).not.toBe('none')
  await requests.pass()
  await expect(announced(page)).toHaveText('Page 80 of 80, 2,000 transactions')
  await expect(pager).toHaveAttribute('aria-busy', 'false')
  expect(await layoutShift(page)).toBeLessThan(0.05)
})

test('the page field refuses anything but digits as it is, and says so', async ({ page }) => {
  await open(page, 'transactions')
  await expect(rows(page)).toHaveCount(25)
  for (const wrong of ['2.5', '-5', '1e3', '0', 'page 7', ' ']) {
    await picker(page).fill(wrong)
    await picker(page).press('Enter')
    await expect(picker(page)).toHaveValue(wrong)
    expect(await validationMessage(picker(page))).not.toBe('')
  }
  await picker(page).fill('7')
  expect(await validationMessage(picker(page))).toBe('')
  await picker(page).press('Enter')
  await expect(picker(page)).toHaveValue('7')
  await expect(rows(page).first()).toContainText(samples[150]?.id ?? '')
  await page.goBack()
  // Nothing wrong has become a page before this one.
  await expect(picker(page)).toHaveValue('1')
})

test('the page field has the page again after Escape, and when it is left', async ({ page }) => {
  await open(page, 'transactions?page=3&limit=25')
  await expect(rows(page)).toHaveCount(25)
  for (const key of ['Escape', 'Tab']) {
    for (const text of ['2.5', '7', '']) {
      await picker(page).fill(text)
      await picker(page).press(key)
      await expect(picker(page)).toHaveValue('3')
      expect(await validationMessage(picker(page))).toBe('')
    }
  }
  await expect(page).toHaveURL(/page=3&/)
})

test('prefetches the next page', async ({ page }) => {
  await open(page, 'transactions')
  await expect(calls(page)).toHaveText([/\/transactions, page 2200 in/, /\/transactions, page 1200 in/])

  await page.getByRole('button', { name: 'Next page' }).click()
  await expect(rows(page).first()).toContainText(samples[25]?.id ?? '')
  await expect(calls(page)).toHaveText([/page 3200 in/, /page 2200 in/, /page 1200 in/])
})

test('the activity calls a cancelled request cancelled, and shows no error', async ({ page }) => {
  await holdRequests(page, { after: 0 })
  await open(page, 'transactions')
  await expect(calls(page).first()).toContainText('page 1')
  await page.getByLabel('Rows per page').selectOption('100')
  const cancelled = calls(page).filter({ hasText: 'cancelled' })
  await expect(cancelled).toHaveCount(1)
  await expect(cancelled).not.toHaveClass(/failed/)
  await expect(page.getByRole('alert')).toHaveCount(0)
})

test('groups the digits of the number of pages, wherever that is named', async ({ page }) => {
  await open(page, 'transactions', '?count=100000&latency=0')
  await expect(page.getByRole('navigation', { name: 'Pages' })).toContainText('of 4,000')
  await expect(announced(page)).toHaveText('Page 1 of 4,000, 100,000 transactions')
  await expect(page.getByRole('table', { name: 'Transactions, page 1 of 4,000' })).toBeVisible()
})

test('turns to any page, back, to the last and no further', async ({ page }) => {
  await open(page, 'transactions')
  const next = page.getByRole('button', { name: 'Next page' })

  await picker(page).fill('42')
  await picker(page).press('Enter')
  await expect(rows(page).first()).toContainText(samples[41 * 25]?.id ?? '')
  await expect(picker(page)).toBeFocused()

  await page.getByRole('button', { name: 'Previous page' }).click()
  await expect(picker(page)).toHaveValue('41')

  await page.getByRole('button', { name: 'Last page' }).click()
  await expect(rows(page).last()).toContainText('@SUM(1+1)')
  await expect(next).toHaveAttribute('aria-disabled', 'true')
  await next.click({ force: true })
  await expect(picker(page)).toHaveValue('80')

  await picker(page).fill('99999')
  await picker(page).press('Enter')
  await expect(picker(page)).toHaveValue('80')
})

for (const width of [1280, 390]) {
  test(`a page turned from further down begins right below the header, ${width} pixels wide`, async ({
    page,
  }) => {
    await page.setViewportSize({ width, height: 800 })
    await open(page, 'transactions')
    await expect(rows(page)).toHaveCount(25)
    await page.evaluate(() => scrollTo(0, 400))
    await page.getByRole('button', { name: 'Next page' }).click()
    await expect(picker(page)).toHaveValue('2')
    const header = (await page.getByRole('banner').boundingBox())?.height ?? 0
    const heading = await page.locator('.heading').boundingBox()
    const card = await page.locator('.card').boundingBox()
    expect((card?.y ?? 0) - header).toBeCloseTo(12, 0)
    // Not half of it.
    expect((heading?.y ?? 0) + (heading?.height ?? 0)).toBeLessThanOrEqual(header)
  })
}

test('a URL beyond the end leads to the last page', async ({ page }) => {
  await open(page, 'transactions?page=99999&limit=25')
  await expect(rows(page).last()).toContainText('@SUM(1+1)')
  await expect(picker(page)).toHaveValue('80')
  await expect(page).toHaveURL(/page=80&/)
})

test('what is wrong in a URL is replaced by what is shown', async ({ page }) => {
  for (const wrong of ['nope', 'transactions?page=abc', 'transactions?page=0&limit=7&else=1']) {
    await open(page, wrong)
    await expect(rows(page)).toHaveCount(25)
    await expect(page).toHaveURL(/#transactions\?page=1&limit=25$/)
  }
})

test('the back button leads to the page before', async ({ page }) => {
  await open(page, 'transactions')
  await page.getByRole('button', { name: 'Next page' }).click()
  await expect(picker(page)).toHaveValue('2')
  await page.goBack()
  await expect(picker(page)).toHaveValue('1')
  await expect(rows(page).first()).toContainText(samples[0]?.id ?? '')
})

test('keeps the first row in view when pages change their size, and the place over a reload', async ({
  page,
}) => {
  await open(page, 'transactions?page=5&limit=50')
  await expect(rows(page).first()).toContainText(samples[200]?.id ?? '')

  await page.getByLabel('Rows per page').selectOption('100')
  await expect(rows(page)).toHaveCount(100)
  await expect(rows(page).first()).toContainText(samples[200]?.id ?? '')

  await page.reload()
  await expect(picker(page)).toHaveValue('3')
  await expect(rows(page)).toHaveCount(100)
})

test('an empty list is said to be empty', async ({ page }) => {
  await open(page, 'transactions', '?count=0&latency=0')
  await expect(page.getByRole('heading', { name: 'No transactions yet' })).toBeVisible()
  await expect(announced(page)).toHaveText('0 transactions')
  await expect(page.getByRole('navigation', { name: 'Pages' })).toHaveCount(0)
})

test('when an empty list has something, the focus is on the view', async ({ page }) => {
  let items: object[] = []
  await serveList(page, () => items)
  await open(page, 'transactions', '?service=/api')
  const check = page.getByRole('button', { name: 'Check again' })
  await expect(check).toBeVisible()
  items = samples.slice(0, 3)
  await check.press('Enter')
  await expect(rows(page)).toHaveCount(3)
  await expect(page.getByRole('main')).toBeFocused()
})

test('each switch is read with what it does', async ({ page }) => {
  await open(page, 'transactions')
  for (const [name, description] of [
    ['No network', 'No request reaches the service.'],
    ['Wrong API key', 'The service responds with 401.'],
    ['Rate limited', '429 and Retry-After: 65 s, longer than the client waits.'],
    ['Invalid page', 'Lists do not match the interface.'],
    ['No such account', 'Changes of accounts are rejected with 404.'],
    ['Lost responses', 'Accounts are changed, but the responses are cut off.'],
  ] as const) {
    await expect(faultSwitch(page, name)).toHaveAccessibleDescription(description)
  }
})

test('filters what is on the page, and announces how much of it matches', async ({ page }) => {
  await open(page, 'transactions')
  await expect(rows(page)).toHaveCount(25)
  const expected = samples.slice(0, 25).filter(({ currency }) => currency === 'EUR').length
  const filter = page.getByLabel('Filter this page')
  const matching = page.getByRole('status').nth(1)
  await expect(matching).toHaveText('')

  await filter.fill('eur')
  await expect(rows(page)).toHaveCount(expected)
  await expect(matching).toHaveText(`${expected} of 25`)
  // Every word, in any column.
  const orders = samples
    .slice(0, 25)
    .filter(item => item.currency === 'EUR' && /order/i.test(item.description))
  await filter.fill(' order  eur')
  await expect(rows(page)).toHaveCount(orders.length)
  await expect(matching).toHaveText(`${orders.length} of 25`)

  await filter.fill('no such thing')
  await expect(matching).toHaveText('0 of 25')
  await expect(page.getByText('No transaction on this page matches “no such thing”.')).toBeVisible()
  await page.getByRole('button', { name: 'Clear the filter' }).press('Enter')
  await expect(rows(page)).toHaveCount(25)
  await expect(matching).toHaveText('')
  await expect(filter).toBeFocused()
})

test('finds an amount as it is displayed and as plain digits', async ({ page }) => {
  await open(page, 'transactions')
  const filter = page.getByLabel('Filter this page')
  for (const text of ['4,841,890', '4841890']) {
    await filter.fill(text)
    await expect(rows(page)).toHaveCount(1)
    await expect(rows(page)).toContainText('4,841,890')
  }
})

test('each view has its own page and filter, which are there again when it is returned to', async ({
  page,
}) => {
  await open(page, 'transactions?page=2&limit=50')
  const filter = page.getByLabel('Filter this page')
  await filter.fill('refund')
  await expect(page).toHaveURL(/#transactions\?page=2&limit=50&filter=refund$/)

  await page.getByRole('link', { name: 'Accounts' }).click()
  await expect(page).toHaveURL(/#accounts$/)
  await page.getByRole('link', { name: 'All transactions' }).click()
  await expect(page).toHaveURL(/#everything$/)
  await page.getByRole('button', { name: 'Load all' }).click()
  const other = page.getByLabel('Filter what is loaded')
  await expect(other).toHaveValue('')
  await other.fill('4,841,890')
  await expect(page).toHaveURL(/#everything\?filter=4%2C841%2C890$/)

  await page.getByRole('link', { name: 'Transactions', exact: true }).click()
  await expect(filter).toHaveValue('refund')
  await expect(picker(page)).toHaveValue('2')
  await page.goBack()
  await expect(other).toHaveValue('4,841,890')
  await page.goForward()
  await page.reload()
  await expect(filter).toHaveValue('refund')
  await expect(picker(page)).toHaveValue('2')
})

test('can be used by keyboard alone', async ({ page }) => {
  await open(page, 'transactions')
  await expect(rows(page)).toHaveCount(25)
  const next = page.getByRole('button', { name: 'Next page' })

  for (let presses = 0; presses < 20; presses++) {
    await page.keyboard.press('Tab')
    if (await next.evaluate(element => element === document.activeElement)) break
  }
  await page.keyboard.press('Enter')
  await page.keyboard.press('Enter')
  await expect(picker(page)).toHaveValue('3')
  await expect(next).toBeFocused()

  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await expect(faultSwitch(page, 'No network')).toBeFocused()
  await page.keyboard.press('Space')
  await expect(faultSwitch(page, 'No network')).toBeChecked()
  await expect(page.getByRole('alert')).toBeVisible()
  await page.keyboard.press('Space')

  await page.getByRole('button', { name: 'Try again' }).focus()
  await page.keyboard.press('Enter')
  await expect(page.getByRole('alert')).toHaveCount(0)
  await expect(page.getByRole('main')).toBeFocused()
})

test('a failed page turn keeps the last page, dimmed, and the total, and moves nothing', async ({ page }) => {
  await open(page, 'transactions')
  await expect(rows(page)).toHaveCount(25)
  const pager = page.getByRole('navigation', { name: 'Pages' })
  const places = async () => [await rows(page).first().boundingBox(), await pager.boundingBox()]
  const before = await places()
  const cell = rows(page).first().locator('.description')
  const colour = await cell.evaluate(element => getComputedStyle(element).color)
  await faultSwitch(page, 'No network').click()
  await page.getByRole('button', { name: 'Last page' }).click()

  await expect(page.getByRole('alert')).toContainText(
    'Page 80 was not loaded. The rows are still those of page 1.',
  )
  await expect(page.getByRole('alert')).toContainText('Check your network connection')
  await expect(page.getByText('2,000 transactions', { exact: true })).toBeVisible()
  await expect(rows(page).first()).toContainText(samples[0]?.id ?? '')
  await expect(cell).not.toHaveCSS('color', colour)
  await expect(page.getByRole('navigation', { name: 'Pages' })).toContainText('of 80')
  expect(await places()).toEqual(before)
  expect(await layoutShift(page)).toBeLessThan(0.05)

  await faultSwitch(page, 'No network').click()
  await page.getByRole('button', { name: 'Back to page 1' }).click()
  await expect(page.getByRole('alert')).toHaveCount(0)
  await expect(cell).toHaveCSS('color', colour)

  await page.getByRole('button', { name: 'Last page' }).click()
  await expect(rows(page).last()).toContainText('@SUM(1+1)')
})

test('a failure covers no row of a short page, and is gone when it is dismissed', async ({ page }) => {
  await open(page, 'transactions?page=1&limit=10')
  await expect(rows(page)).toHaveCount(10)
  await faultSwitch(page, 'No network').click()
  await expect(page.getByRole('alert')).toBeVisible()
  await expect(page.getByRole('alert')).toBeInViewport({ ratio: 1 })
  const panel = await page.locator('.problem').boundingBox()
  const last = await rows(page).last().boundingBox()
  expect((last?.y ?? 0) + (last?.height ?? 0)).toBeLessThanOrEqual(panel?.y ?? 0)

  await page.getByRole('button', { name: 'Dismiss' }).click()
  await expect(page.getByRole('alert')).toHaveCount(0)
  await expect(page.getByRole('main')).toBeFocused()
  await expect(page.getByText(/^2,000 transactions, loaded at \d.*\d\d:\d\d:\d\d$/)).toBeVisible()
})

test('on a phone, a failure is in view wherever the page is scrolled to, and no row stays behind it, and no switch leaves its place', async ({
  page,
}) => {
  await page.setViewportSize({ width: 390, height: 844 })
  await open(page, 'transactions')
  await expect(rows(page)).toHaveCount(25)
  await page.getByText('Failures and activity').click()
  const top = await page.evaluate(() => scrollY)
  await faultSwitch(page, 'Rate limited').click()
  await expect(page.getByRole('alert')).toContainText('Too many requests')
  await expect(faultSwitch(page, 'Rate limited')).toBeFocused()
  expect(await page.evaluate(() => scrollY)).toBe(top)

  for (const number of [5, 9]) {
    await page.evaluate(number => {
      ;(document.activeElement as HTMLElement).blur()
      scrollTo(0, 0)
      location.hash = `transactions?page=${number}&limit=25`
    }, number)
    await expect(page.getByRole('alert')).toContainText(`Page ${number} was not loaded`)
    await expect(page.getByRole('alert')).toBeInViewport({ ratio: 1 })
    await expect(page.getByRole('button', { name: 'Back to page 1' })).toBeInViewport({ ratio: 1 })
  }

  await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
  const panel = await page.locator('.problem').boundingBox()
  const last = await rows(page).last().boundingBox()
  expect((last?.y ?? 0) + (last?.height ?? 0)).toBeLessThanOrEqual(panel?.y ?? 0)
})

test('in a low window neither the header nor the pager covers rows, and a failure is in view', async ({
  page,
}) => {
  await page.setViewportSize({ width: 640, height: 400 })
  await open(page, 'transactions')
  await expect(rows(page)).toHaveCount(25)
  await expect(rows(page).first()).toBeInViewport({ ratio: 0.5 })
  const pager = page.getByRole('navigation', { name: 'Pages' })
  await expect(pager).not.toBeInViewport()
  await page.evaluate(() => scrollTo(0, 500))
  await expect(page.getByRole('banner')).not.toBeInViewport()

  await page.getByText('Failures and activity').click()
  await faultSwitch(page, 'Rate limited').click()
  await page.getByText('Failures and activity').click()
  await page.getByRole('button', { name: 'Last page' }).click()
  await expect(page.getByRole('alert')).toContainText('Page 80 was not loaded')
  await expect(page.getByRole('alert')).toBeInViewport({ ratio: 1 })
})

test('a first page that fails leaves nothing that looks like loading', async ({ page }) => {
  await page.route('**/api/transactions*', route => route.fulfill({ json: [] }))
  await open(page, 'transactions', '?service=/api')
  await expect(page.getByRole('alert')).toContainText('The service sent something unexpected')
  await expect(page.getByText('Not loaded')).toBeVisible()
  await expect(page.locator('.placeholder')).toHaveCount(0)
  await page.unroute('**/api/transactions*')
  await serveList(page, () => samples.slice(0, 3))
  await page.getByRole('button', { name: 'Try again' }).click()
  await expect(rows(page)).toHaveCount(3)
})

for (const { fault, title, advice, isRetryable } of [
  {
    fault: 'No network',
    title: 'The connection to the service failed',
    advice: 'Check your network connection',
    isRetryable: true,
  },
  {
    fault: 'Wrong API key',
    title: 'The service rejected the API key',
    advice: 'Ask whoever runs this page to check it',
    isRetryable: false,
  },
  {
    fault: 'Invalid page',
    title: 'The service sent something unexpected',
    advice: 'none of it is used. Tell whoever runs the service.',
    isRetryable: false,
  },
]) {
  test(`says what to do, and recommends a retry only where it can help: ${fault}`, async ({ page }) => {
    await open(page, 'transactions')
    await expect(rows(page)).toHaveCount(25)

    await faultSwitch(page, fault).click()
    await expect(page.getByRole('alert')).toContainText(title)
    await expect(page.getByRole('alert')).toContainText(advice)
    await expect(page.getByRole('alert')).toContainText(/The rows were loaded at \d.*\d\d:\d\d:\d\d\./)
    await expect(rows(page)).toHaveCount(25)

    const again = page.getByRole('button', { name: 'Try again' })
    if (isRetryable) await expect(again).toHaveClass(/primary/)
    else await expect(again).not.toHaveClass(/primary/)
    await faultSwitch(page, fault).click()
    await again.click()
    await expect(page.getByRole('alert')).toHaveCount(0)
  })
}

test('waits as long as the service asks, and says until when', async ({ page }) => {
  await page.clock.install({ time: '2026-11-21T15:00:00' })
  await open(page, 'transactions')
  await expect(rows(page)).toHaveCount(25)

  await faultSwitch(page, 'Rate limited').click()
  await expect(page.getByRole('alert')).toContainText(/It asks to wait until 15:0\d:\d\d\./)
  const again = page.getByRole('button', { name: 'Try again' })
  await expect(again).toBeDisabled()
  await expect(page.getByText(/^in \d+ s$/)).toBeVisible()

  await faultSwitch(page, 'Rate limited').click()
  await page.clock.fastForward(66_000)
  await again.click()
  await expect(page.getByRole('alert')).toHaveCount(0)
})

test('uses a real service behind a path, without a key', async ({ page }) => {
  const requested = await serveList(page, () => samples.slice(0, 3))
  await open(page, 'transactions', '?service=/api')
  await expect(rows(page)).toHaveCount(3)
  await expect(page.getByText('Service at /api')).toBeVisible()
  await expect(page.getByRole('switch')).toHaveCount(0)
  expect(requested).toEqual([{ url: '/api/transactions?page=1&limit=25', key: undefined }])
})

for (const elsewhere of ['https://example.com', '//example.com', '/\\example.com']) {
  test(`uses no service elsewhere, and leads back to one that works: ${elsewhere}`, async ({ page }) => {
    await open(page, 'transactions', `?service=${encodeURIComponent(elsewhere)}`)
    await expect(page.getByRole('alert')).toContainText('there must be a path, such as /api')
    await expect(page.getByRole('alert')).not.toContainText('eload')
    await page.getByRole('button', { name: 'Use the fake service' }).click()
    await expect(rows(page)).toHaveCount(25)
  })
}
