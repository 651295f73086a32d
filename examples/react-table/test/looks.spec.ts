import { AxeBuilder } from '@axe-core/playwright'
import { expect, type Page } from '@playwright/test'
import { faultSwitch, open, rows, test } from './page.ts'

/** Each view as somebody comes to see it. */
const views: Record<string, (page: Page) => Promise<void>> = {
  transactions: async page => {
    await open(page, 'transactions')
    await expect(rows(page)).toHaveCount(25)
  },
  everything: async page => {
    await open(page, 'everything')
    await page.getByRole('button', { name: 'Load all' }).click()
    await expect(page.getByRole('img', { name: 'Points: sum per currency' })).toBeVisible()
  },
  accounts: async page => {
    await open(page, 'accounts')
    await showFaults(page)
    await page.getByLabel('Customer id').fill('c1')
    await page.getByLabel('Virtual account id').fill('v1')
    await page.getByRole('button', { name: 'Deactivate' }).click()
    await expect(page.getByRole('cell', { name: 'deactivated' })).toBeVisible()
    await faultSwitch(page, 'Lost answers').click()
    await page.getByRole('button', { name: 'Reactivate' }).click()
    await expect(page.getByRole('alert')).toBeVisible()
  },
  'a failure': async page => {
    await open(page, 'transactions')
    await expect(rows(page)).toHaveCount(25)
    await showFaults(page)
    await faultSwitch(page, 'Too many requests').click()
    await expect(page.getByRole('alert')).toBeVisible()
  },
}

/** On a phone they are folded. */
async function showFaults(page: Page) {
  const summary = page.getByText('Make it fail, and watch the client')
  if (await summary.isVisible()) await summary.click()
}

for (const [view, show] of Object.entries(views)) {
  for (const width of [1280, 390]) {
    test(`${view}, ${width} pixels wide: accessible, light and dark, and nothing beside the screen`, async ({
      page,
    }) => {
      await page.setViewportSize({ width, height: 844 })
      await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
      await show(page)
      expect(await violationsOf(new AxeBuilder({ page }))).toEqual([])
      // Nothing but the colours is another.
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
