import { test as base, expect, type Page } from '@playwright/test'

/** A test that also fails when the page writes an error to the console, or throws one. */
export const test = base.extend({
  page: async ({ page }, use) => {
    const errors: string[] = []
    page.on('console', message => {
      if (message.type() === 'error') errors.push(message.text())
    })
    page.on('pageerror', error => errors.push(error.message))
    await use(page)
    expect(errors).toEqual([])
  },
})

/** Rows of transactions that are in the document, without the head. */
export function rows(page: Page) {
  return page.getByRole('table', { name: /transactions/i }).locator('tbody tr:not(.spacer)')
}

export function faultSwitch(page: Page, name: string) {
  return page.getByRole('switch', { name })
}

export async function open(page: Page, view: string, query = '?count=2000&latency=0') {
  await page.goto(`/${query}#${view}`)
}
