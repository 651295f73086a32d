import { expect, type Page } from '@playwright/test'
import { faultSwitch, open, test } from './page.ts'

async function change(page: Page, operation: 'Deactivate' | 'Reactivate') {
  await page.getByLabel('Customer id').fill('c1')
  await page.getByLabel('Virtual account id').fill('v1')
  await page.getByRole('button', { name: operation, exact: true }).click()
}

const question = (page: Page) => page.getByRole('region', { name: 'Was account v1 deactivated?' })
const changes = (page: Page) => page.getByRole('table', { name: 'Last change made in this browser' })
const again = (page: Page) => page.getByRole('button', { name: 'Try again with the same key' })

async function keyInDetails(page: Page) {
  await question(page).getByText('Details').click()
  const text = await question(page).getByText('Idempotency-Key').innerText()
  return text.replace('Idempotency-Key: ', '')
}

test('deactivates and reactivates, and calls what it remembers by its name', async ({ page }) => {
  await open(page, 'accounts')
  await expect(page.getByText('Not the status: the service does not show one.')).toBeVisible()

  await change(page, 'Deactivate')
  await expect(changes(page).getByRole('row').nth(1)).toHaveText(/c1\s*v1\s*deactivated/)
  await change(page, 'Reactivate')
  await expect(changes(page).getByRole('row').nth(1)).toHaveText(/c1\s*v1\s*reactivated/)
  await expect(changes(page).getByRole('row')).toHaveCount(2)

  await page.reload()
  await expect(changes(page).getByRole('row').nth(1)).toHaveText(/c1\s*v1\s*reactivated/)
})

test('keeps the key over a reload while the outcome is unknown, and repeats with it', async ({ page }) => {
  await open(page, 'accounts')
  await faultSwitch(page, 'Lost answers').click()
  await change(page, 'Deactivate')
  await expect(question(page)).toContainText('It may have been applied')
  const key = await keyInDetails(page)

  await page.reload()
  await expect(question(page)).toContainText('It may have been applied')
  expect(await keyInDetails(page)).toBe(key)

  await again(page).click()
  await expect(changes(page).getByRole('row').nth(1)).toHaveText(/c1\s*v1\s*deactivated/)
  await expect(question(page)).toHaveCount(0)
  await expect(page.getByRole('region', { name: 'What the client does' })).toContainText(`key ${key}`)

  await page.reload()
  await expect(page.getByRole('heading', { name: 'Accounts' })).toBeVisible()
  await expect(question(page)).toHaveCount(0)
})

test('asks after a reload when the page was closed before the answer', async ({ page }) => {
  await open(page, 'accounts', '?count=10&latency=60000')
  await change(page, 'Deactivate')
  await expect(page.getByText('Sending…')).toBeVisible()
  await expect(question(page)).toHaveCount(0)
  await page.reload()
  await expect(question(page)).toBeVisible()
})

test('a refused repetition leaves the outcome unknown', async ({ page }) => {
  await open(page, 'accounts')
  await faultSwitch(page, 'Lost answers').click()
  await change(page, 'Deactivate')
  await expect(question(page)).toBeVisible()

  await faultSwitch(page, 'Wrong key').click()
  await faultSwitch(page, 'Lost answers').click()
  await again(page).click()
  await expect(question(page)).toContainText('the service refused the key')

  await faultSwitch(page, 'Wrong key').click()
  await again(page).click()
  await expect(changes(page)).toContainText('deactivated')
})

test('starts no other change of the account before, unless told to forget', async ({ page }) => {
  await open(page, 'accounts')
  await faultSwitch(page, 'Lost answers').click()
  await change(page, 'Deactivate')
  await expect(question(page)).toBeVisible()
  const reactivate = page.getByRole('button', { name: 'Reactivate', exact: true })
  await expect(reactivate).toHaveAttribute('aria-disabled', 'true')

  await faultSwitch(page, 'Lost answers').click()
  await page.getByRole('button', { name: 'I have looked: forget it' }).click()
  await expect(question(page)).toHaveCount(0)
  await reactivate.click()
  await expect(changes(page)).toContainText('reactivated')
})

test('a refusal is no unknown outcome', async ({ page }) => {
  await open(page, 'accounts')
  await faultSwitch(page, 'Wrong key').click()
  await change(page, 'Deactivate')
  await expect(page.getByRole('alert')).toContainText('The service refused the key')
  await expect(question(page)).toHaveCount(0)

  await faultSwitch(page, 'Wrong key').click()
  await page.getByRole('button', { name: 'Deactivate again' }).click()
  await expect(changes(page)).toContainText('deactivated')
})
