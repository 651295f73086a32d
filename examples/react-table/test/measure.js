// @ts-check
// What the built page weighs, how soon it is there, and whether 100,000 transactions keep it busy:
//
//   npm run build && npm run measure

import { gzipSync } from 'node:zlib'
import { chromium } from '@playwright/test'
import { preview } from 'vite'
import config from '../playwright.config.ts'

const server = await preview({ preview: { port: 0, strictPort: false } })
const browser = await chromium.launch(config.use?.launchOptions ?? {})
try {
  const page = await browser.newPage()
  await page.addInitScript(watchLongTasks)
  await firstLoad(page, server.resolvedUrls?.local[0] ?? '')
  await loadAll(page)
} finally {
  await browser.close()
  await server.close()
}

/**
 * @param {import('@playwright/test').Page} page
 * @param {string} url
 */
async function firstLoad(page, url) {
  /** @type {Promise<{ name: string, size: number, gzip: number }>[]} */
  const files = []
  page.on('response', response => {
    if (!response.url().startsWith(url)) return
    files.push(
      response.body().then(body => ({
        name: new URL(response.url()).pathname,
        size: body.length,
        gzip: gzipSync(body).length,
      })),
    )
  })
  await page.goto(url)
  await page.getByRole('row').nth(25).waitFor()
  const shown = await page.evaluate(() => performance.now())

  const loaded = await Promise.all(files)
  for (const { name, size, gzip } of loaded) print(name, size, gzip)
  const sum = (/** @type {'size' | 'gzip'} */ what) => loaded.reduce((total, file) => total + file[what], 0)
  print('first load', sum('size'), sum('gzip'))
  console.log(`first rows after ${Math.round(shown)} ms, of them 40 ms the latency of the fake`)
}

/** @param {import('@playwright/test').Page} page */
async function loadAll(page) {
  await tasks(page, 'loading the page')
  await page.getByRole('link', { name: 'All transactions' }).click()
  await page.getByRole('button', { name: 'Load all' }).click()
  await page.getByRole('button', { name: 'Load again' }).waitFor({ timeout: 120_000 })
  await page.getByRole('img').nth(1).waitFor()
  console.log(await page.getByText('100,000 of 100,000').innerText())
  await tasks(page, 'loading all')

  const scroller = page.getByRole('region', { name: 'All loaded transactions' })
  await scroller.hover()
  for (let turns = 0; turns < 20; turns++) await page.mouse.wheel(0, 20_000)
  await tasks(page, 'scrolling')

  await page.getByLabel('Filter what is loaded').pressSequentially('order 12')
  await page.waitForTimeout(500)
  await tasks(page, 'filtering')

  await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ])
  await tasks(page, 'the CSV file')
}

/** In the page: notes each task that kept the main thread busy for more than 50 ms. */
function watchLongTasks() {
  const noted = Object.assign(globalThis, { longTasks: /** @type {number[]} */ ([]) })
  new PerformanceObserver(list => {
    for (const { duration } of list.getEntries()) noted.longTasks.push(Math.round(duration))
  }).observe({ type: 'longtask' })
}

/**
 * @param {import('@playwright/test').Page} page
 * @param {string} what
 */
async function tasks(page, what) {
  // Long tasks are reported after they end.
  await page.waitForTimeout(300)
  const found = await page.evaluate(() => {
    const { longTasks } = /** @type {{ longTasks: number[] }} */ (/** @type {unknown} */ (globalThis))
    return longTasks.splice(0)
  })
  console.log(`tasks over 50 ms, ${what}: ${found.length ? `${found.join(', ')} ms` : 'none'}`)
}

/**
 * @param {string} name
 * @param {number} size
 * @param {number} gzip
 */
function print(name, size, gzip) {
  const kB = (/** @type {number} */ bytes) => `${(bytes / 1000).toFixed(1)} kB`.padStart(10)
  console.log(`${name.padEnd(36)}${kB(size)}${kB(gzip)} with gzip`)
}
