import { AxeBuilder } from '@axe-core/playwright'
import { expect, type Page } from '@playwright/test'
import { open, rows, serveList, test, toggleFault } from './page.ts'

async function enterAccount(page: Page) {
  await open(page, 'accounts')
  await page.getByLabel('Customer id').fill('0f8fad5b-d9cb-469f-a165-70867728950e')
  await page.getByLabel('Virtual account id').fill('7c9e6679-7425-40de-944b-e07fc1f90ae7')
}

/** Each view as somebody comes to see it. */
const views: Record<string, (page: Page) => Promise<void>> = {
  transactions: async page => {
    await open(page, 'transactions')
    await expect(rows(page)).toHaveCount(25)
  },
  everything: async page => {
    await open(page, 'everything')
    await page.getByRole('button', { name: 'Load all' }).click()
    await expect(page.getByRole('img').nth(1)).toBeVisible()
  },
  accounts: async page => {
    await enterAccount(page)
    await page.getByRole('button', { name: 'Reactivate' }).click()
    await expect(page.getByRole('cell', { name: 'reactivated' })).toBeVisible()
    await toggleFault(page, 'Lost responses')
    await page.getByRole('button', { name: 'Reactivate' }).click()
    await expect(page.getByRole('alert')).toBeVisible()
  },
  'a confirmation': async page => {
    await enterAccount(page)
    await page.getByRole('button', { name: 'Deactivate…' }).click()
    await expect(page.getByRole('dialog')).toBeVisible()
  },
  'a failure': async page => {
    await open(page, 'transactions')
    await expect(rows(page)).toHaveCount(25)
    await toggleFault(page, 'Rate limited')
    await expect(page.getByRole('alert')).toBeVisible()
  },
}

for (const [view, show] of Object.entries(views)) {
  for (const width of [1280, 320]) {
    test(`${view}, ${width} pixels wide: accessible, light and dark, and nothing beside the screen`, async ({
      page,
    }) => {
      await page.setViewportSize({ width, height: 844 })
      await page.emulateMedia({ colorScheme: 'light' })
      await show(page)
      expect(await violationsOf(new AxeBuilder({ page }))).toEqual([])
      // Only the colours differ.
      await page.emulateMedia({ colorScheme: 'dark' })
      expect(await violationsOf(new AxeBuilder({ page }).withRules('color-contrast'))).toEqual([])
      const scrollWidth = await page.evaluate(() => document.documentElement.scrollWidth)
      expect(scrollWidth).toBeLessThanOrEqual(width)
    })
  }
}

async function violationsOf(axe: AxeBuilder): Promise<string[]> {
  // The page has no frames, for which the other mode opens a second page.
  const { violations } = await axe.setLegacyMode().analyze()
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}

test('switches, requests and pager are in view together, wherever the list is scrolled to', async ({
  page,
}) => {
  await page.setViewportSize({ width: 1280, height: 720 })
  await open(page, 'transactions?limit=100')
  await expect(rows(page)).toHaveCount(100)
  for (const top of [0, 1_000, 9_999]) {
    await page.evaluate(top => scrollTo(0, top), top)
    await expect(page.getByRole('checkbox', { name: 'Slow service' })).toBeInViewport({ ratio: 1 })
    await expect(page.getByText('GET /transactions, items 1–100')).toBeInViewport({ ratio: 1 })
    await expect(page.getByRole('navigation', { name: 'Pages' })).toBeInViewport({ ratio: 1 })
  }
})

for (const width of [1280, 768, 390, 360, 320]) {
  test(`no amount, currency or part of the pager is cut or covered, ${width} pixels wide`, async ({
    page,
  }) => {
    await page.setViewportSize({ width, height: 844 })
    const amounts = [
      [9_007_199_254_740_991, 'USD', '9,007,199,254,740,991.00'],
      [-1_234_567.891, 'KWD', '-1,234,567.891'],
      [58.2, 'EUR', '58.20'],
      [463, 'JPY', '463'],
      [17, 'MMM', '17.00'],
    ] as const
    const items = Array.from({ length: 100_000 }, (_, index) => {
      const [amount, currency] = amounts[index % amounts.length] ?? []
      return { id: `t${index}`, amount, currency, description: 'Refund for order 65155' }
    })
    await serveList(page, () => items)
    await open(page, 'transactions?page=9999&limit=10', '?service=/api')
    await expect(rows(page)).toHaveCount(10)
    await expect(rows(page).locator('.amount')).toHaveText([...amounts, ...amounts].map(([, , text]) => text))
    const cut = await rows(page)
      .locator('.amount, .currency')
      .evaluateAll(cells =>
        cells.filter(cell => cell.scrollWidth > cell.clientWidth).map(cell => cell.textContent),
      )
    expect(cut).toEqual([])
    const heights = await rows(page).evaluateAll(rows => rows.map(row => row.getBoundingClientRect().height))
    expect(new Set(heights)).toEqual(new Set([width < 744 ? 64 : 44]))

    const pager = page.getByRole('navigation', { name: 'Pages' })
    await expect(pager).toContainText('of 10,000')
    const hidden = await pager.locator('button, input, .of').evaluateAll(parts =>
      parts.filter(part => {
        const { left, right, top, bottom } = part.getBoundingClientRect()
        return [left + 2, right - 2].some(
          x => !part.contains(document.elementFromPoint(x, (top + bottom) / 2)),
        )
      }),
    )
    expect(hidden).toEqual([])
  })
}

test('follows the dark switch of the documentation site, also while it is open', async ({
  page,
  context,
}) => {
  await page.emulateMedia({ colorScheme: 'light' })
  const choose = (page: Page, scheme: string) =>
    page.evaluate(scheme => localStorage.setItem('vitepress-theme-appearance', scheme), scheme)
  await open(page, 'transactions')
  await expect(page.locator('body')).toHaveCSS('color', 'rgb(23, 26, 33)')
  await choose(page, 'dark')
  await page.reload()
  await expect(page.locator('body')).toHaveCSS('color', 'rgb(233, 236, 241)')
  const other = await context.newPage()
  await open(other, 'transactions')
  await choose(other, 'auto')
  await expect(page.locator('body')).toHaveCSS('color', 'rgb(23, 26, 33)')
})

test('forced colours: the current tab is marked by a system colour', async ({ page }) => {
  await page.emulateMedia({ forcedColors: 'active' })
  await open(page, 'everything')
  const edge = (name: string) =>
    page.getByRole('link', { name, exact: true }).evaluate(link => getComputedStyle(link).borderBottomColor)
  expect(await edge('All transactions')).not.toBe(await edge('Accounts'))
})

test('whatever has the focus shows a ring', async ({ page }) => {
  await views.everything?.(page)
  await page.evaluate(() => (document.activeElement as HTMLElement).blur())
  const rings: string[] = []
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press('Tab')
    const ring = await page.evaluate(() => {
      const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement ?? document.body)
      return document.activeElement === document.body ? undefined : `${outlineStyle} ${outlineWidth}`
    })
    if (ring === undefined) break
    rings.push(ring)
  }
  expect(rings.length).toBeGreaterThan(10)
  expect(new Set(rings)).toEqual(new Set(['solid 2px']))
})
