import { expect } from '@playwright/test'
import { sampleTransactions } from '../../../dist/testing.js'
import { faultSwitch, open, rows, test } from './page.ts'

const samples = sampleTransactions(2000)

test('shows the first page, and how many there are', async ({ page }) => {
  await open(page, 'transactions')
  await expect(page.getByRole('status')).toHaveText('2,000 transactions')
  await expect(rows(page)).toHaveCount(25)
  await expect(rows(page).first()).toContainText(samples[0]?.id ?? '')
  await expect(page.getByRole('navigation', { name: 'Pages' })).toContainText('of 80')
})

test('has the next page before it is asked for', async ({ page }) => {
  await open(page, 'transactions')
  const calls = page.getByRole('region', { name: 'What the client does' }).getByRole('listitem')
  await expect(calls).toHaveText([/\/transactions · 2200 in/, /\/transactions · 1200 in/])

  await page.getByRole('button', { name: 'Next page' }).click()
  await expect(rows(page).first()).toContainText(samples[25]?.id ?? '')
  await expect(calls).toHaveText([/· 3200 in/, /· 2200 in/, /· 1200 in/])
})

test('turns to any page, back, to the last and no further', async ({ page }) => {
  await open(page, 'transactions')
  const next = page.getByRole('button', { name: 'Next page' })
  const picker = page.getByRole('textbox', { name: 'Page' })

  await picker.fill('42')
  await picker.press('Enter')
  await expect(rows(page).first()).toContainText(samples[41 * 25]?.id ?? '')

  await page.getByRole('button', { name: 'Previous page' }).click()
  await expect(picker).toHaveValue('41')

  await page.getByRole('button', { name: 'Last page' }).click()
  await expect(rows(page).last()).toContainText('@SUM(1+1)')
  await expect(next).toHaveAttribute('aria-disabled', 'true')
  await next.click({ force: true })
  await expect(picker).toHaveValue('80')

  await picker.fill('99999')
  await picker.press('Enter')
  await expect(picker).toHaveValue('80')
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
  await expect(page.getByRole('textbox', { name: 'Page' })).toHaveValue('3')
  await expect(rows(page)).toHaveCount(100)
})

test('filters what is on the page', async ({ page }) => {
  await open(page, 'transactions')
  await expect(rows(page)).toHaveCount(25)
  const expected = samples.slice(0, 25).filter(({ currency }) => currency === 'EUR').length
  const filter = page.getByLabel('Filter this page')

  await filter.fill('eur')
  await expect(rows(page)).toHaveCount(expected)

  await filter.fill('no such thing')
  await expect(page.getByText('Nothing on this page fits the filter.')).toBeVisible()
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
  await expect(page.getByRole('textbox', { name: 'Page' })).toHaveValue('3')
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

for (const { fault, title, advice } of [
  {
    fault: 'No network',
    title: 'The connection to the service failed',
    advice: 'Check your network connection',
  },
  { fault: 'Wrong key', title: 'The service refused the key', advice: 'check its API key' },
  {
    fault: 'A broken page',
    title: 'The service sent something unexpected',
    advice: 'Tell whoever runs the service',
  },
]) {
  test(`says what to do: ${fault}`, async ({ page }) => {
    await open(page, 'transactions')
    await expect(rows(page)).toHaveCount(25)

    await faultSwitch(page, fault).click()
    await expect(page.getByRole('alert')).toContainText(title)
    await expect(page.getByRole('alert')).toContainText(advice)

    await faultSwitch(page, fault).click()
    await page.getByRole('button', { name: 'Try again' }).click()
    await expect(page.getByRole('alert')).toHaveCount(0)
  })
}

test('waits as long as the service asks, and shows it', async ({ page }) => {
  await page.clock.install()
  await open(page, 'transactions')
  await expect(rows(page)).toHaveCount(25)

  await faultSwitch(page, 'Too many requests').click()
  await expect(page.getByRole('alert')).toContainText('It asks to wait 1 min 5 s')
  const again = page.getByRole('button', { name: 'Try again' })
  await expect(again).toBeDisabled()
  await expect(page.getByText(/^in (1 min \d|\d+) s$/)).toBeVisible()

  await faultSwitch(page, 'Too many requests').click()
  await page.clock.fastForward(66_000)
  await again.click()
  await expect(page.getByRole('alert')).toHaveCount(0)
})

test('asks a real service behind a path, without a key', async ({ page }) => {
  const asked: { url: string; key: string | undefined }[] = []
  await page.route('**/api/transactions*', async route => {
    const request = route.request()
    asked.push({ url: request.url().replace(/^.*(?=\/api)/, ''), key: request.headers()['api-key'] })
    await route.fulfill({ json: { data: samples.slice(0, 3), page: 1, totalItems: 3, limit: 25 } })
  })
  await open(page, 'transactions', '?service=/api')
  await expect(rows(page)).toHaveCount(3)
  await expect(page.getByText('The service behind /api')).toBeVisible()
  await expect(page.getByRole('switch')).toHaveCount(0)
  expect(asked).toEqual([{ url: '/api/transactions?page=1&limit=25', key: undefined }])
})

for (const elsewhere of ['https://example.com', '//example.com', '/\\example.com']) {
  test(`asks no service elsewhere: ${elsewhere}`, async ({ page }) => {
    await open(page, 'transactions', `?service=${encodeURIComponent(elsewhere)}`)
    await expect(page.getByRole('alert')).toBeVisible()
    await page.getByText('Details').click()
    await expect(page.getByText('expected a path')).toBeVisible()
  })
}
