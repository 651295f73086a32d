import { AxeBuilder } from '@axe-core/playwright'
import { expect, type Page } from '@playwright/test'
import { sampleTransactions } from '../../../dist/testing.js'
import { faultSwitch, layoutShift, open, rows, serveList, test } from './page.ts'

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
    await open(page, 'accounts')
    await showFaults(page)
    await page.getByLabel('Customer id').fill('0f8fad5b-d9cb-469f-a165-70867728950e')
    await page.getByLabel('Virtual account id').fill('7c9e6679-7425-40de-944b-e07fc1f90ae7')
    await page.getByRole('button', { name: 'Reactivate' }).click()
    await expect(page.getByRole('cell', { name: 'reactivated' })).toBeVisible()
    await faultSwitch(page, 'Lost responses').click()
    await page.getByRole('button', { name: 'Reactivate' }).click()
    await expect(page.getByRole('alert')).toBeVisible()
  },
  'a confirmation': async page => {
    await open(page, 'accounts')
    await page.getByLabel('Customer id').fill('0f8fad5b-d9cb-469f-a165-70867728950e')
    await page.getByLabel('Virtual account id').fill('7c9e6679-7425-40de-944b-e07fc1f90ae7')
    await page.getByRole('button', { name: 'Deactivate…' }).click()
    await expect(page.getByRole('dialog')).toBeVisible()
  },
  'a failure': async page => {
    await open(page, 'transactions')
    await expect(rows(page)).toHaveCount(25)
    await showFaults(page)
    await faultSwitch(page, 'Rate limited').click()
    await expect(page.getByRole('alert')).toBeVisible()
  },
}

/** On a phone they are folded. */
async function showFaults(page: Page) {
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  const summary = page.getByText('Failures and activity')
  if (await summary.isVisible()) await summary.click()
}

for (const [view, show] of Object.entries(views)) {
  for (const width of [1280, 390, 320]) {
    test(`${view}, ${width} pixels wide: accessible, light and dark, and nothing beside the screen`, async ({
      page,
    }) => {
      await page.setViewportSize({ width, height: 844 })
      await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
      await show(page)
      expect(await violationsOf(new AxeBuilder({ page }))).toEqual([])
      // Only the colours differ.
      await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' })
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

for (const width of [1280, 390]) {
  test(`the heading begins where the cards begin, ${width} pixels wide`, async ({ page }) => {
    await page.setViewportSize({ width, height: 844 })
    for (const view of ['transactions', 'everything', 'accounts']) {
      await open(page, view)
      const heading = await page.getByRole('heading', { level: 1 }).boundingBox()
      const card = await page.locator('main .card').first().boundingBox()
      expect(heading?.x).toBe(card?.x)
      await page.goto('about:blank')
    }
  })

  test(`shows whole UUIDs, ${width} pixels wide`, async ({ page }) => {
    await page.setViewportSize({ width, height: 844 })
    const items = sampleTransactions(25).map(item => ({ ...item, id: crypto.randomUUID() }))
    await serveList(page, () => items)
    await open(page, 'transactions', '?service=/api')
    await expect(rows(page)).toHaveCount(25)
    const isCut = await page
      .locator('td.id')
      .evaluateAll(cells => cells.some(cell => cell.scrollWidth > cell.clientWidth))
    expect(isCut).toBe(false)
  })
}

for (const width of [1280, 744, 390]) {
  test(`something is seen before the scripts run, and stays in its place, ${width} pixels wide`, async ({
    page,
  }) => {
    await page.setViewportSize({ width, height: 844 })
    let run = () => {}
    const held = new Promise<void>(resolve => {
      run = resolve
    })
    await page.route('**/*.js', async route => {
      await held
      await route.continue()
    })
    await page.goto('/?count=2000&latency=0', { waitUntil: 'commit' })
    await expect(page.getByText('Loading…')).toBeVisible()
    await expect(page.getByRole('banner')).toHaveCSS('position', 'sticky')
    const brand = page.getByText('Virtual accounts', { exact: true })
    const links = page.getByRole('navigation', { name: 'Views' }).getByRole('link')
    const seen = async () => [
      await brand.boundingBox(),
      ...(await links.evaluateAll(all =>
        all.map(link => [link.textContent, link.getBoundingClientRect().y]),
      )),
    ]
    const before = await seen()
    expect(before).toHaveLength(4)

    run()
    await expect(rows(page)).toHaveCount(25)
    expect(await seen()).toEqual(before)
    expect(await layoutShift(page)).toBeLessThan(0.05)
  })
}

for (const width of [743, 744]) {
  test(`shows every name in the header in full and in one line, whichever view is open, ${width} pixels wide`, async ({
    page,
  }) => {
    await page.setViewportSize({ width, height: 1024 })
    for (const view of ['transactions', 'everything', 'accounts']) {
      await open(page, view)
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
      const names = page.locator('.bar nav a, .bar .service')
      expect(await names.evaluateAll(all => all.filter(name => name.scrollWidth > name.clientWidth))).toEqual(
        [],
      )
      const lines = await names.evaluateAll(all =>
        all.map(name => {
          const text = document.createRange()
          text.selectNode(name.firstChild as Node)
          return text.getClientRects().length
        }),
      )
      expect(lines).toEqual([1, 1, 1, 1])
    }
  })

  test(`no description of a sample transaction is cut, ${width} pixels wide`, async ({ page }) => {
    await page.setViewportSize({ width, height: 1024 })
    await open(page, 'transactions')
    await expect(rows(page)).toHaveCount(25)
    const cut = await page
      .locator('td.description')
      .evaluateAll(cells => cells.filter(cell => cell.scrollWidth > cell.clientWidth).length)
    expect(cut).toBe(0)
  })
}

test('an id too long for its column is cut visibly, and there in full to whoever points at it', async ({
  page,
}) => {
  const id = 'x'.repeat(200)
  await serveList(page, () => [{ id, amount: 1, currency: 'EUR', description: 'Long' }])
  await open(page, 'transactions', '?service=/api')
  const cell = page.getByRole('cell', { name: id })
  await expect(cell).toHaveCSS('text-overflow', 'ellipsis')
  await expect(cell).toHaveAttribute('title', id)
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1280)
})

test('forced colours: switches, tabs and progress say by shape and system colours what they say', async ({
  page,
}) => {
  await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' })
  await open(page, 'everything')

  const track = faultSwitch(page, 'Lost responses').locator('.track')
  const off = await track.screenshot()
  await faultSwitch(page, 'Lost responses').click()
  await page.mouse.move(0, 0)
  expect(await track.screenshot()).not.toEqual(off)

  const edge = (name: string) =>
    page.getByRole('link', { name, exact: true }).evaluate(link => getComputedStyle(link).borderBottomColor)
  expect(await edge('All transactions')).not.toBe(await edge('Accounts'))
  expect(await edge('Transactions')).toBe(await edge('Accounts'))

  const bar = page.getByRole('progressbar')
  const empty = await bar.screenshot()
  await page.getByRole('button', { name: 'Load all' }).click()
  await expect(page.getByText('2,000 of 2,000')).toBeVisible()
  expect(await bar.screenshot()).not.toEqual(empty)
  await expect(bar).toHaveCSS('border-top-style', 'solid')
})

for (const view of ['transactions', 'everything', 'accounts'] as const) {
  test(`whatever has the focus shows a ring: ${view}`, async ({ page }) => {
    await views[view]?.(page)
    await page.evaluate(() => (document.activeElement as HTMLElement).blur())
    const rings = new Map<string, string>()
    for (let presses = 0; presses < 60; presses++) {
      await page.keyboard.press('Tab')
      const [name, ring] = await page.evaluate(() => {
        const element = document.activeElement ?? document.body
        const { outlineStyle, outlineWidth } = getComputedStyle(element)
        const name = `${element.tagName} ${element.getAttribute('aria-label') ?? element.closest('label, li')?.textContent ?? element.textContent}`
        return [element === document.body ? 'BODY' : name, `${outlineStyle} ${outlineWidth}`] as const
      })
      if (name === 'BODY') break
      rings.set(name, ring)
    }
    expect(rings.size).toBeGreaterThan(7)
    expect([...rings].filter(([, ring]) => ring !== 'solid 2px')).toEqual([])
  })
}
