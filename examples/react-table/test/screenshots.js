// @ts-check
// Takes the screenshots of examples/react-table/README.md:
//
//   npm run build && npm run screenshots

import { chromium } from '@playwright/test'
import { preview } from 'vite'
import config from '../playwright.config.ts'

const media = new URL('../../../docs/media/', import.meta.url).pathname
const server = await preview({ preview: { port: 0, strictPort: false } })
const browser = await chromium.launch(config.use?.launchOptions ?? {})
try {
  await everything()
  await accounts()
} finally {
  await browser.close()
  await server.close()
}

async function everything() {
  const page = await opened('everything', 'light', { width: 1280, height: 1120 })
  await page.getByRole('button', { name: 'Load all' }).click()
  await page.getByRole('img').nth(1).waitFor({ timeout: 120_000 })
  await page.mouse.move(0, 0)
  await page.waitForTimeout(500)
  await page.screenshot({ path: `${media}react-table-everything.webp`, type: 'webp', quality: 90 })
}

async function accounts() {
  const page = await opened('accounts', 'dark', { width: 1280, height: 860 })
  await page.getByLabel('Customer id').fill('c-1042')
  await page.getByLabel('Virtual account id').fill('va-7')
  await page.getByRole('button', { name: 'Reactivate' }).click()
  await page.getByRole('cell', { name: 'reactivated' }).waitFor()
  await page.getByRole('switch', { name: 'Lost responses' }).click()
  await page.getByRole('button', { name: 'Deactivate…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click()
  await page.getByRole('alert').waitFor()
  await page.mouse.move(0, 0)
  await page.waitForTimeout(500)
  await page.screenshot({ path: `${media}react-table-accounts.webp`, type: 'webp', quality: 90 })
}

/**
 * @param {string} view
 * @param {'light' | 'dark'} colorScheme
 * @param {{ width: number, height: number }} viewport
 */
async function opened(view, colorScheme, viewport) {
  const page = await browser.newPage({ colorScheme, viewport })
  await page.goto(`${server.resolvedUrls?.local[0]}#${view}`)
  return page
}
