import { readFile } from 'node:fs/promises'
import { expect, type Locator, type Page } from '@playwright/test'
import { sampleTransactions } from '../../../dist/testing.js'
import {
  faultSwitch,
  forgetLayoutShifts,
  holdRequests,
  layoutShift,
  open,
  rows,
  serveList,
  test,
} from './page.ts'

const progress = (page: Page) => page.getByRole('progressbar', { name: 'Transactions loaded' })
const loaded = (page: Page) => progress(page).evaluate(bar => (bar as HTMLProgressElement).value)
const loadAll = (page: Page) => page.getByRole('button', { name: 'Load all' }).click()
const figures = (page: Page) => page.getByRole('table', { name: 'Figures per currency' })

test('loads 100,000 transactions, and renders only those in view', async ({ page }) => {
  await open(page, 'everything', '?count=100000&latency=0')
  await loadAll(page)
  await expect(page.getByText('100,000 of 100,000')).toBeVisible()
  await expect(page.getByText(/^Complete in [\d.]+ s, [\d,]+ a second$/)).toBeVisible()
  const table = page.getByRole('table', { name: 'All loaded transactions' })
  await expect(table).toHaveAttribute('aria-rowcount', '100001')
  expect(await rows(page).count()).toBeLessThan(30)

  await page.getByRole('region', { name: 'All loaded transactions' }).focus()
  await page.keyboard.press('End')
  await expect(rows(page).last()).toHaveText(/@SUM\(1\+1\)/)
  await expect(rows(page).last()).toBeInViewport({ ratio: 0.98 })
  await expect(rows(page).last()).toHaveAttribute('aria-rowindex', '100001')
  expect(await rows(page).count()).toBeLessThan(30)

  await page.getByLabel('Filter what is loaded').fill('unusual-2 usd')
  await expect(rows(page)).toHaveCount(1)
  await expect(page.getByText('1 of 100,000')).toBeVisible()
})

test('shows exact sums, medians and percentiles per currency, and charts of one', async ({ page }) => {
  await open(page, 'everything', '?count=20000&latency=0')
  await loadAll(page)
  await expect(page.getByText('20,000 of 20,000')).toBeVisible()

  // In whole cents: the samples have two decimals at most. The last three are of the fake service's own.
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
  const shown = (await figures(page).getByRole('row').allInnerTexts()).slice(1).map(row => {
    const [currency = '', count = '', ...amounts] = row.split(/\s+/)
    return [currency, Number(count.replaceAll(',', '')), ...amounts.map(inCents)]
  })
  expect(shown).toEqual(expected)

  await page.getByLabel('Amounts in').selectOption('JPY')
  await expect(
    page.getByRole('img', { name: 'number of transactions per range of amounts, in JPY' }),
  ).toBeVisible()
  await expect(page.getByRole('img', { name: 'sum in JPY by position in the list' })).toBeVisible()
  await page.getByLabel('Amounts in').selectOption('EUR')
  const sizes = page.getByRole('img', { name: 'number of transactions per range of amounts, in EUR' })
  await expect(sizes).toContainText('below 0')
  await expect(sizes).toContainText('100–1K')
  const euros = cents.get('EUR') ?? []
  const between = (start: number, end: number) =>
    euros.filter(amount => amount >= start * 100 && amount < end * 100).length
  await expect(sizes).toHaveAccessibleName(
    new RegExp(`in EUR: below 0: 1; 0 to 1: ${between(0, 1)}; 1 to 10: ${between(1, 10)}; `),
  )
  await expect(page.getByRole('img', { name: 'sum in EUR' })).toHaveAccessibleName(
    /list: [\d.]+K?(; [\d.]+K?){39}$/,
  )
})

test('rows of sums keep their order while they grow', async ({ page }) => {
  const requests = await holdRequests(page, { after: 20 })
  await open(page, 'everything', '?count=20000&latency=0')
  await page.evaluate(() => {
    const orders = new Set<string>()
    Object.assign(globalThis, { orders })
    new MutationObserver(() => {
      const cells = document.querySelectorAll('.sums tbody th')
      orders.add([...cells].map(cell => cell.textContent).join(' '))
    }).observe(document.body, { subtree: true, childList: true, characterData: true })
  })
  await loadAll(page)
  await expect.poll(() => loaded(page)).toBeGreaterThan(0)
  await requests.pass()
  await expect(page.getByText('20,000 of 20,000')).toBeVisible()
  const orders = await page.evaluate(() => [...(globalThis as unknown as { orders: Set<string> }).orders])
  expect(orders).toContain('AED CHF EUR GBP JPY SGD USD')
  expect(orders.every(order => order === order.split(' ').sort().join(' '))).toBe(true)
})

test('progress is announced a few times, not with every page', async ({ page }) => {
  await open(page, 'everything', '?count=20000&latency=0')
  await page.evaluate(() => {
    const said: string[] = []
    Object.assign(globalThis, { said })
    new MutationObserver(changes => {
      for (const { target } of changes) {
        const status = (target.parentElement ?? (target as Element)).closest('[role=status]')
        const text = status?.textContent ?? ''
        if (text !== '' && said.at(-1) !== text) said.push(text)
      }
    }).observe(document.body, { subtree: true, childList: true, characterData: true })
  })
  await loadAll(page)
  await expect(page.getByText('20,000 of 20,000')).toBeVisible()
  const said = await page.evaluate(() => (globalThis as unknown as { said: string[] }).said)
  expect(said.length).toBeGreaterThan(0)
  expect(said.length).toBeLessThanOrEqual(8)
})

test('says how much is loaded when loading resumes, and when the view is returned to', async ({ page }) => {
  const requests = await holdRequests(page, { after: 40 })
  await open(page, 'everything', '?count=20000&latency=0')
  await loadAll(page)
  await expect.poll(() => loaded(page)).toBe(4000)
  const announced = page.getByRole('status').first()
  await expect(announced).toHaveText('Loading, 0 % done')
  await page.getByRole('link', { name: 'Accounts' }).click()
  await page.getByRole('link', { name: 'All transactions' }).click()
  await expect(announced).toHaveText('Loading, 20 % done')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await expect(announced).toHaveText('Cancelled: 4,000 transactions loaded')
  await requests.pass(0)
  await page.getByRole('button', { name: 'Resume' }).click()
  await expect(announced).toHaveText('Loading, 20 % done')
})

for (const width of [1280, 390, 320]) {
  test(`nothing moves while loading, nor when it ends or fails, ${width} pixels wide`, async ({ page }) => {
    await page.setViewportSize({ width, height: 860 })
    const requests = await holdRequests(page, { after: 20 })
    await open(page, 'everything', '?count=20000&latency=0')
    await loadAll(page)
    const cancel = page.getByRole('button', { name: 'Cancel' })
    const list = page.getByRole('region', { name: 'Loaded transactions', exact: true })
    await expect.poll(() => loaded(page)).toBeGreaterThan(0)
    const download = page.getByRole('button', { name: 'Download CSV' })
    await expect(download).toHaveCount(0)
    const cancelled = await cancel.boundingBox()
    const places = await placesUntil(page, [cancel, list], async () => {
      await requests.pass()
      await expect(page.getByText('20,000 of 20,000')).toBeVisible()
    })
    await expect(page.getByRole('img').nth(1)).toBeVisible()
    expect(places).toEqual([[expect.any(Number)], [expect.any(Number)]])
    // No click meant for Cancel downloads a file.
    const box = await download.boundingBox()
    expect(box?.y).toBe(cancelled?.y)
    expect(box?.x).toBeGreaterThan((cancelled?.x ?? 0) + (cancelled?.width ?? 0))
    expect(await layoutShift(page)).toBeLessThan(0.05)

    await requests.pass(20)
    await page.getByRole('button', { name: 'Load again' }).click()
    await expect.poll(() => loaded(page)).toBe(2000)
    await failOnce(page)
    const [afterFailure] = await placesUntil(page, [list], async () => {
      await requests.pass()
      await expect(page.getByRole('alert')).toBeVisible()
    })
    // On a phone the message takes more lines.
    if (width === 1280) expect(afterFailure).toHaveLength(1)
    expect(await layoutShift(page)).toBeLessThan(0.05)
  })
}

/** Where each element was, in pixels below the top, at each frame in which it was there. */
async function placesUntil(page: Page, locators: Locator[], done: () => Promise<void>): Promise<number[][]> {
  const elements = await Promise.all(locators.map(locator => locator.elementHandle()))
  await page.evaluate(elements => {
    const places = elements.map(() => new Set<number>())
    Object.assign(globalThis, { places })
    const look = () => {
      for (const [index, element] of elements.entries()) {
        if (element?.isConnected)
          places[index]?.add(Math.round(element.getBoundingClientRect().top + scrollY))
      }
      requestAnimationFrame(look)
    }
    look()
  }, elements)
  await done()
  return page.evaluate(() =>
    (globalThis as unknown as { places: Set<number>[] }).places.map(place => [...place]),
  )
}

async function failOnce(page: Page) {
  const summary = page.getByText('Failures and activity')
  const isFolded = await summary.isVisible()
  if (isFolded) await summary.click()
  await faultSwitch(page, 'Invalid page').click()
  if (isFolded) await summary.click()
}

for (const width of [1280, 390]) {
  test(`scrolling the loaded list shifts nothing, ${width} pixels wide`, async ({ page }) => {
    await page.setViewportSize({ width, height: 860 })
    await open(page, 'everything', '?count=20000&latency=0')
    await loadAll(page)
    await expect(page.getByRole('img').nth(1)).toBeVisible()
    const list = page.getByRole('region', { name: 'All loaded transactions' })
    await list.scrollIntoViewIfNeeded()
    await list.hover()
    await forgetLayoutShifts(page)
    for (let turn = 0; turn < 40; turn++) await page.mouse.wheel(0, 250)
    await expect(rows(page).first()).not.toHaveAttribute('aria-rowindex', '2')
    expect(await layoutShift(page)).toBeLessThan(0.001)
  })
}

test('the list shows its focus as a whole ring', async ({ page }) => {
  await open(page, 'everything')
  await loadAll(page)
  const list = page.getByRole('region', { name: 'All loaded transactions' })
  await expect(list).toBeVisible()
  await page.getByLabel('Filter what is loaded').focus()
  await page.keyboard.press('Tab')
  await expect(list).toBeFocused()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await expect.poll(() => list.evaluate(element => element.scrollTop)).toBeGreaterThan(60)
  await list.scrollIntoViewIfNeeded()

  const png = (await list.screenshot()).toString('base64')
  // In the middle of each edge, and where the head and the rows begin.
  const colours = await page.evaluate(async png => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob())
    const canvas = new OffscreenCanvas(image.width, image.height)
    const context = canvas.getContext('2d')
    context?.drawImage(image, 0, 0)
    const at = (x: number, y: number) => context?.getImageData(x, y, 1, 1).data.join()
    const { width, height } = image
    const [middle, right] = [Math.round(width / 2), width - 2]
    return [
      at(middle, 1),
      at(middle, height - 2),
      ...[20, 60, height / 2].flatMap(y => [at(1, y), at(right, y)]),
    ]
  }, png)
  expect(new Set(colours).size, colours.join(' ')).toBe(1)
})

test('a failure is in view wherever the list is scrolled to', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 })
  const requests = await holdRequests(page, { after: 20 })
  await open(page, 'everything', '?count=20000&latency=0')
  await page.getByText('Failures and activity').click()
  await loadAll(page)
  await expect.poll(() => loaded(page)).toBeGreaterThan(0)
  await faultSwitch(page, 'Invalid page').click()
  await page.getByRole('button', { name: 'Cancel' }).focus()
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
  await requests.pass()
  await expect(page.getByRole('alert')).toBeInViewport({ ratio: 1 })
  await expect(page.getByRole('button', { name: 'Resume' })).toBeInViewport({ ratio: 1 })
})

test('while the list loads the focus is on Cancel', async ({ page }) => {
  const requests = await holdRequests(page, { after: 0 })
  await open(page, 'everything')
  const cancel = page.getByRole('button', { name: 'Cancel' })
  await page.getByRole('button', { name: 'Load all' }).press('Enter')
  await expect(cancel).toBeFocused()
  await page.keyboard.press('Enter')
  const again = page.getByRole('button', { name: 'Load all' })
  await expect(again).toBeFocused()
  await again.press('Enter')
  await expect(cancel).toBeFocused()

  await requests.pass()
  await expect(page.getByText('2,000 of 2,000')).toBeVisible()
  await requests.pass(0)
  await page.getByRole('button', { name: 'Load again' }).press('Enter')
  await expect(cancel).toBeFocused()
})

test('after Cancel the focus is on Resume', async ({ page }) => {
  const requests = await holdRequests(page, { after: 20 })
  await open(page, 'everything', '?count=20000&latency=0')
  await loadAll(page)
  await expect.poll(() => loaded(page)).toBeGreaterThan(0)
  await page.getByRole('button', { name: 'Cancel' }).focus()
  await page.keyboard.press('Enter')
  await expect(page.getByRole('button', { name: 'Resume' })).toBeFocused()

  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Cancel' }).focus()
  await requests.pass()
  await expect(page.getByText('20,000 of 20,000')).toBeVisible()
  // Not on the button that downloads: an Enter that was meant for Cancel would press it.
  await expect(page.getByRole('main')).toBeFocused()
})

test('no card keeps room for what is not there', async ({ page }) => {
  const card = page.getByRole('region', { name: 'Load all transactions' })
  const lastLine = card.locator('.message > *').last()
  const room = async () => {
    const [outer, inner] = [await card.boundingBox(), await lastLine.boundingBox()]
    if (!outer || !inner) throw new Error('Not in view')
    return outer.y + outer.height - inner.y - inner.height
  }
  await holdRequests(page, { after: 20 })
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 860 })
    await open(page, 'everything', '?count=20000&latency=0')
    await loadAll(page)
    await expect.poll(() => loaded(page)).toBeGreaterThan(0)
    expect(await room()).toBeLessThan(50)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await expect(page.getByRole('button', { name: 'Resume' })).toBeVisible()
    expect(await room()).toBeLessThan(50)
    await page.goto('about:blank')
  }
})

test('can be cancelled on the way, keeps what it has, and resumes', async ({ page }) => {
  const requests = await holdRequests(page, { after: 20 })
  await open(page, 'everything', '?count=20000&latency=0')
  await loadAll(page)
  await expect.poll(() => loaded(page)).toBeGreaterThan(0)
  await expect(page.getByText(/^[\d,]+ a second, \d+ (s|min) left$/)).toBeVisible()
  await page.getByRole('button', { name: 'Cancel' }).click()

  await expect(page.getByText(/^Cancelled, [\d,]+ a second$/)).toBeVisible()
  const count = await loaded(page)
  expect(count).toBeLessThan(20_000)
  await expect(page.getByText('In flight0')).toBeVisible()
  expect(await loaded(page)).toBe(count)

  await requests.pass()
  await page.getByRole('button', { name: 'Resume' }).click()
  await expect(page.getByText('20,000 of 20,000')).toBeVisible()
  await expect(page.getByText(/^Complete in/)).toBeVisible()
})

test('resumes where it failed, with nothing twice and nothing missing', async ({ page }) => {
  const requests = await holdRequests(page, { after: 20 })
  await open(page, 'everything', '?count=20000&latency=0')
  await loadAll(page)
  await expect.poll(() => loaded(page)).toBeGreaterThan(0)
  await faultSwitch(page, 'Invalid page').click()
  await requests.pass()
  await expect(page.getByRole('alert')).toContainText('The service sent something unexpected')
  await expect(page.getByText(/^Stopped, /)).toBeVisible()

  await faultSwitch(page, 'Invalid page').click()
  await page.getByRole('button', { name: 'Resume' }).click()
  await expect(page.getByText('20,000 of 20,000')).toBeVisible()
  await expect(page.getByRole('alert')).toHaveCount(0)
  const [partial] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: /^Download/ }).click(),
  ])
  const ids = (await readFile(await partial.path(), 'utf8'))
    .split('\r\n')
    .slice(1, -1)
    .map(line => line.split(',')[0])
  expect(ids).toEqual([
    ...sampleTransactions(20_000)
      .slice(0, -3)
      .map(({ id }) => id),
    'unusual-1',
    'unusual-2',
    'unusual-3',
  ])
})

test('reads a list from the start when it changed before it was resumed', async ({ page }) => {
  let items = sampleTransactions(3000)
  let isHeld = false
  await serveList(page, () => items)
  // Pages from the 11th on wait until loading is cancelled.
  await page.route(/page=(1[1-9]|2\d|30)&limit=100/, route => (isHeld ? undefined : route.fallback()))
  isHeld = true
  await open(page, 'everything', '?service=/api')
  await loadAll(page)
  await expect.poll(() => loaded(page)).toBe(1000)
  await page.getByRole('button', { name: 'Cancel' }).click()

  // Everything moves to a page before.
  items = items.slice(150)
  isHeld = false
  await page.getByRole('button', { name: 'Resume' }).click()
  await expect(page.getByText('2,850 of 2,850')).toBeVisible()
})

test('a double click does not start and cancel, nor cancel and resume', async ({ page }) => {
  const requests = await holdRequests(page, { after: 20 })
  await open(page, 'everything', '?count=20000&latency=0')
  await page.getByRole('button', { name: 'Load all' }).dblclick()
  await expect.poll(() => loaded(page)).toBe(2000)
  await page.getByRole('button', { name: 'Cancel' }).click({ clickCount: 2, delay: 50 })
  await requests.pass()
  await expect(page.getByRole('button', { name: 'Resume' })).toBeVisible()
  await expect(page.getByText(/^Cancelled/).last()).toBeVisible()
})

test('keeps what is loaded, its place and the filter, when another view is looked at', async ({ page }) => {
  await open(page, 'everything')
  await loadAll(page)
  const list = page.getByRole('region', { name: 'All loaded transactions' })
  const again = page.getByRole('button', { name: 'Load again' })
  await expect(again).toBeVisible()
  await list.evaluate(element => element.scrollTo(0, 44_000))
  await expect(rows(page).first()).toHaveAttribute('aria-rowindex', '1002')
  await page.getByRole('link', { name: 'Accounts' }).click()
  await expect(list).toHaveCount(0)
  await page.goBack()
  await expect(rows(page).first()).toHaveAttribute('aria-rowindex', '1002')
  expect(await list.evaluate(element => element.scrollTop)).toBe(44_000)
  // Another list is at its first row.
  await again.click()
  await expect(again).toBeVisible()
  await expect(rows(page).first()).toHaveAttribute('aria-rowindex', '2')

  await page.getByLabel('Filter what is loaded').fill('4,841,890')
  await expect(rows(page)).toHaveCount(1)
  await expect(page).toHaveURL(/filter=/)
  await page.getByRole('link', { name: 'Accounts' }).click()
  await page.getByRole('link', { name: 'All transactions' }).click()
  await expect(page.getByText('2,000 of 2,000')).toBeVisible()
  await expect(page.getByLabel('Filter what is loaded')).toHaveValue('4,841,890')
  await expect(rows(page)).toHaveCount(1)
})

test('an empty list is said to be empty, and gives no file', async ({ page }) => {
  await open(page, 'everything', '?count=0&latency=0')
  await loadAll(page)
  await expect(page.getByRole('heading', { name: 'The list is empty' })).toBeVisible()
  await expect(page.getByRole('button', { name: /^Download/ })).toHaveCount(0)
  await expect(page.getByText('NaN')).toHaveCount(0)
})

test('a part of the list is called a part, in the button and in the name of the file', async ({ page }) => {
  await holdRequests(page, { after: 20 })
  await open(page, 'everything', '?count=20000&latency=0')
  await loadAll(page)
  await expect.poll(() => loaded(page)).toBeGreaterThan(0)
  await page.getByRole('button', { name: 'Cancel' }).click()
  const button = page.getByRole('button', { name: 'Download partial CSV' })
  await expect(button).not.toHaveClass(/primary/)
  const resume = await page.getByRole('button', { name: 'Resume' }).boundingBox()
  expect((await button.boundingBox())?.x).toBe((resume?.x ?? 0) + (resume?.width ?? 0) + 12)
  const count = await loaded(page)
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()])
  expect(download.suggestedFilename()).toBe(`transactions-partial-${count}-of-20000.csv`)
  const lines = (await readFile(await download.path(), 'utf8')).split('\r\n')
  expect(lines.slice(1, -1)).toHaveLength(count)
})

test('then offers a CSV file that spreadsheets open and do not run', async ({ page }) => {
  await open(page, 'everything')
  await loadAll(page)
  const button = page.getByRole('button', { name: 'Download CSV' })
  await expect(button).toHaveClass(/primary/)
  const [download] = await Promise.all([page.waitForEvent('download'), button.press('Enter')])
  expect(download.suggestedFilename()).toBe('transactions-all-2000.csv')
  await expect(button).toBeFocused()

  const text = await readFile(await download.path(), 'utf8')
  const lines = text.split('\r\n')
  expect(lines[0]).toBe('\ufeffid,amount,currency,description')
  const samples = sampleTransactions(2000).slice(0, -3)
  expect(lines.slice(1, 1998)).toEqual(
    samples.map(({ id, amount, currency, description }) => `${id},${amount},${currency},${description}`),
  )
  expect(lines.slice(1998)).toEqual([
    'unusual-1,-250.75,EUR,"Refund, ""partly"""',
    `unusual-2,0.1,USD,"'=HYPERLINK(""https://example.com"";""Click"")"`,
    "unusual-3,0.2,USD,'@SUM(1+1)",
    '',
  ])
})
