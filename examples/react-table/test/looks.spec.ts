import { AxeBuilder } from '@axe-core/playwright'
import { expect, type Page } from '@playwright/test'
import { open, rows, test, toggleFault } from './page.ts'

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

test('switches are in view on a tablet, and folded on a phone', async ({ page }) => {
  const first = page.getByRole('checkbox').first()
  await page.setViewportSize({ width: 1024, height: 768 })
  await open(page, 'transactions')
  await expect(first).toBeInViewport()
  await page.setViewportSize({ width: 390, height: 844 })
  await expect(first).toBeHidden()
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
