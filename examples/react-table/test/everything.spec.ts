import { readFile } from 'node:fs/promises'
import { expect, type Page } from '@playwright/test'
import { sampleTransactions } from '../../../dist/testing.js'
import { faultSwitch, open, rows, test } from './page.ts'

const progress = (page: Page) => page.getByRole('progressbar', { name: 'Transactions loaded' })
const loaded = (page: Page) => progress(page).evaluate(bar => (bar as HTMLProgressElement).value)

test('loads 100,000 transactions, and draws only those in view', async ({ page }) => {
  await open(page, 'everything', '?count=100000&latency=0')
  await page.getByRole('button', { name: 'Load all' }).click()
  await expect(page.getByText('100,000 of 100,000 ·')).toBeVisible()
  await expect(page.getByText(/per second/)).toBeVisible()
  const table = page.getByRole('table', { name: 'All loaded transactions' })
  await expect(table).toHaveAttribute('aria-rowcount', '100001')
  expect(await rows(page).count()).toBeLessThan(100)

  await page.getByRole('region', { name: 'All loaded transactions' }).focus()
  await page.keyboard.press('End')
  await expect(rows(page).last()).toHaveText(/@SUM\(1\+1\)/)
  await expect(rows(page).last()).toHaveAttribute('aria-rowindex', '100001')
  expect(await rows(page).count()).toBeLessThan(100)

  await page.getByLabel('Filter what is loaded').fill('unusual-2')
  await expect(rows(page)).toHaveCount(1)
  await expect(page.getByText('1 of 100,000')).toBeVisible()
})

test('adds up exactly, and shows it as charts', async ({ page }) => {
  await open(page, 'everything', '?count=20000&latency=0')
  await page.getByRole('button', { name: 'Load all' }).click()
  await expect(page.getByRole('img', { name: 'Bars: transactions per currency' })).toBeVisible()
  await expect(page.getByRole('img', { name: 'Points: sum per currency' })).toBeVisible()

  // In whole cents: the samples have two decimals at most. The last three are of the fake's own.
  const cents = new Map<string, bigint>()
  const add = (currency: string, amount: bigint) => cents.set(currency, (cents.get(currency) ?? 0n) + amount)
  for (const { currency, amount } of sampleTransactions(20_000).slice(0, -3)) {
    add(currency, BigInt(Math.round(amount * 100)))
  }
  add('EUR', -25_075n)
  add('USD', 10n + 20n)
  const shown = await page
    .getByRole('table', { name: 'Count and sum per currency' })
    .getByRole('row')
    .allInnerTexts()
  const sums = shown.slice(1).map(row => row.replaceAll(',', '').split(/\s+/))
  expect(sums).toHaveLength(cents.size)
  for (const [currency, , sum = ''] of sums) {
    const [whole = '', fraction = ''] = sum.split('.')
    expect(BigInt(whole + fraction.padEnd(2, '0')), currency).toBe(cents.get(currency ?? ''))
  }
})

test('can be cancelled on the way, and keeps what it has', async ({ page }) => {
  await open(page, 'everything', '?count=100000&latency=20')
  await page.getByRole('button', { name: 'Load all' }).click()
  await expect.poll(() => loaded(page)).toBeGreaterThan(0)
  await expect(page.getByText(/ left ·/)).toBeVisible()
  await page.getByRole('button', { name: 'Cancel' }).click()

  await expect(page.getByText(/of 100,000 · cancelled/)).toBeVisible()
  const count = await loaded(page)
  expect(count).toBeLessThan(100_000)
  await expect(page.getByText('0In flight')).toBeVisible()
  expect(await loaded(page)).toBe(count)
  await expect(page.getByRole('button', { name: 'Download CSV' })).toBeVisible()
  await expect(page.getByRole('button', { name: 'Load all again' })).toBeVisible()
})

test('goes on where it failed, with nothing twice and nothing missing', async ({ page }) => {
  await open(page, 'everything', '?count=20000&latency=80')
  await page.getByRole('button', { name: 'Load all' }).click()
  await expect.poll(() => loaded(page)).toBeGreaterThan(0)
  await faultSwitch(page, 'A broken page').click()
  await expect(page.getByRole('alert')).toContainText('The service sent something unexpected')
  await expect(page.getByText(/of 20,000 · stopped/)).toBeVisible()

  await faultSwitch(page, 'A broken page').click()
  await page.getByRole('button', { name: /^Go on from page \d+$/ }).click()
  await expect(page.getByText('20,000 of 20,000 ·')).toBeVisible()
  await expect(page.getByRole('alert')).toHaveCount(0)
})

test('a double click does not start and cancel', async ({ page }) => {
  await open(page, 'everything')
  await page.getByRole('button', { name: 'Load all' }).dblclick()
  await expect(page.getByText('2,000 of 2,000 ·')).toBeVisible()
})

test('keeps what is loaded when another view is looked at', async ({ page }) => {
  await open(page, 'everything')
  await page.getByRole('button', { name: 'Load all' }).click()
  await page.getByRole('link', { name: 'Accounts' }).click()
  await page.getByRole('link', { name: 'Everything' }).click()
  await expect(page.getByText('2,000 of 2,000 ·')).toBeVisible()
})

test('gives a CSV file that spreadsheets open and do not run', async ({ page }) => {
  await open(page, 'everything')
  await page.getByRole('button', { name: 'Load all' }).click()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ])
  expect(download.suggestedFilename()).toBe('transactions.csv')

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
