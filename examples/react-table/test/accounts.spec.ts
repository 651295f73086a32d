import { type BrowserContext, expect, type Page } from '@playwright/test'
import { holdRequests, layoutShift, open, test, toggleFault } from './page.ts'

async function enter(page: Page, account = 'v1', customer = 'c1') {
  await page.getByLabel('Customer id').fill(customer)
  await page.getByLabel('Virtual account id').fill(account)
}

async function deactivate(page: Page, account = 'v1') {
  await enter(page, account)
  await page.getByRole('button', { name: 'Deactivate…' }).click()
  await dialog(page).getByRole('button', { name: 'Deactivate' }).click()
}

async function reactivate(page: Page, account = 'v1') {
  await enter(page, account)
  await page.getByRole('button', { name: 'Reactivate', exact: true }).click()
}

/** Deactivates an account, and loses the response. */
async function lose(page: Page, account = 'v1') {
  await toggleFault(page, 'Lost responses')
  await deactivate(page, account)
  await expect(question(page, account)).toContainText('It may have been applied')
  await toggleFault(page, 'Lost responses')
}

const dialog = (page: Page) => page.getByRole('dialog')
const question = (page: Page, account = 'v1') =>
  page.getByRole('region', { name: `Was account ${account} deactivated?` })
const latest = (page: Page) => page.getByRole('status', { name: 'Latest change' })
const elsewhere = (page: Page) => page.getByRole('status', { name: 'Resolved in another tab' })
const changes = (page: Page) => page.getByRole('table', { name: 'Last confirmed changes in this browser' })
const retry = (page: Page) => page.getByRole('button', { name: 'Retry with the same key' })
const discard = (page: Page) =>
  page.getByRole('button', { name: 'I checked the account: discard this request' })
const activity = (page: Page) => page.getByRole('region', { name: 'Client activity' })

async function keyInDetails(page: Page) {
  await question(page).getByText('Details').click()
  const text = await question(page).getByText('Idempotency-Key').innerText()
  return /Idempotency-Key: (\S+)/.exec(text)?.[1]
}

const dateWithTime = /\d{1,2}\s[A-Z][a-z]{2}\s\d{4},\s\d\d:\d\d:\d\d/

test('deactivates and reactivates, and shows the last change, not a status', async ({ page }) => {
  await open(page, 'accounts')
  await expect(page.getByText('Not the status of the accounts')).toBeVisible()
  await deactivate(page)
  await expect(latest(page)).toContainText('Account deactivated')
  await expect(latest(page)).toContainText('account v1 of customer c1')
  await expect(changes(page).getByRole('row').nth(1)).toHaveText(/v1\s*c1\s*deactivated/)
  await expect(changes(page).getByRole('row').nth(1)).toHaveText(dateWithTime)
  await reactivate(page)
  await expect(changes(page).getByRole('row').nth(1)).toHaveText(/v1\s*c1\s*reactivated/)
  await expect(changes(page).getByRole('row')).toHaveCount(2)
  await page.reload()
  await expect(changes(page).getByRole('row').nth(1)).toHaveText(/v1\s*c1\s*reactivated/)
})

test('has an account of the fake service to try, and none of a real one', async ({ page }) => {
  await open(page, 'accounts')
  await page.getByRole('button', { name: 'Reactivate', exact: true }).click()
  await expect(changes(page).getByRole('row').nth(1)).toHaveText(/v1\s*c1\s*reactivated/)
  await open(page, 'accounts', '?service=/api')
  for (const label of ['Customer id', 'Virtual account id'])
    await expect(page.getByLabel(label)).toHaveValue('')
})

test('names the account before it deactivates it, and sends nothing unless that is confirmed', async ({
  page,
}) => {
  await open(page, 'accounts')
  await enter(page, 'va-7')
  const button = page.getByRole('button', { name: 'Deactivate…' })
  for (const key of ['Enter', 'Escape']) {
    await button.click()
    await expect(dialog(page)).toContainText('Deactivate account va-7?')
    await expect(dialog(page)).toContainText('customer c1')
    await page.keyboard.press(key)
    await expect(dialog(page)).toHaveCount(0)
    await expect(button).toBeFocused()
  }
  await page.getByLabel('Customer id').press('Enter')
  await expect(dialog(page)).toHaveCount(0)
  // A later change is the first request.
  await reactivate(page)
  await expect(changes(page)).toContainText('reactivated')
  await expect(activity(page)).toContainText('Requests1')
})

test('marks an id that is missing or that the client refuses, and sends nothing', async ({ page }) => {
  await open(page, 'accounts')
  for (const [customer, account, field, message] of [
    ['c1', '  ', 'Virtual account id', /./],
    ['..', 'v1', 'Customer id', /^Expected an id.*, got "\.\."/],
    ['c1', 'undefined', 'Virtual account id', /^Expected an id.*, got "undefined"/],
  ] as const) {
    await enter(page, account, customer)
    await page.getByRole('button', { name: 'Deactivate…' }).click()
    await expect(page.getByLabel(field)).toBeFocused()
    expect(
      await page.getByLabel(field).evaluate(input => (input as HTMLInputElement).validationMessage),
    ).toMatch(message)
    await expect(dialog(page)).toHaveCount(0)
  }
  await expect(activity(page)).toContainText('Requests0')
  await reactivate(page)
  await expect(changes(page)).toContainText('reactivated')
})

test('no change is sent, or sent again, before the service accepts changes', async ({ page }) => {
  await page.clock.install({ time: '2026-11-21T15:00:00' })
  await open(page, 'accounts')
  await toggleFault(page, 'Rate limited')
  await reactivate(page)
  await expect(page.getByRole('alert')).toContainText('Too many requests')
  const buttons = ['Try again to reactivate it', 'Reactivate', 'Deactivate…'].map(name =>
    page.getByRole('button', { name, exact: true }),
  )
  for (const button of buttons) await expect(button).toBeDisabled()
  const reason = page
    .getByRole('status')
    .filter({ hasText: /^The service asks you to wait until 15:0\d:\d\d\.$/ })
  await expect(reason).toBeVisible()

  await toggleFault(page, 'Rate limited')
  await page.clock.fastForward(121_000)
  for (const button of buttons) await expect(button).toBeEnabled()
})

test('keeps the key over a reload while the outcome is unknown, and retries with it', async ({ page }) => {
  await open(page, 'accounts')
  await lose(page)
  await expect(question(page)).toContainText(dateWithTime)
  for (const text of ['POST deactivate', 'account v1', 'customer c1', 'no complete response'])
    await expect(activity(page)).toContainText(text)
  const key = await keyInDetails(page)
  await page.reload()
  await expect(question(page)).toBeVisible()
  expect(await layoutShift(page)).toBeLessThan(0.05)
  expect(await keyInDetails(page)).toBe(key)

  await retry(page).press('Enter')
  await expect(changes(page).getByRole('row').nth(1)).toHaveText(/v1\s*c1\s*deactivated/)
  await expect(question(page)).toHaveCount(0)
  await expect(page.getByRole('main')).toBeFocused()
  await expect(activity(page)).toContainText(`key ${key}`)
  await page.reload()
  await expect(page.getByRole('heading', { name: 'Accounts' })).toBeVisible()
  await expect(question(page)).toHaveCount(0)
})

test('asks after a reload when the page was closed before the response', async ({ page }) => {
  await holdRequests(page, { after: 0 })
  await open(page, 'accounts')
  await deactivate(page)
  await expect(latest(page)).toContainText('Sending…')
  await expect(question(page)).toHaveCount(0)
  await page.reload()
  await expect(question(page)).toBeVisible()
})

test('starts no other change of an account before the last one is settled or discarded', async ({ page }) => {
  await open(page, 'accounts')
  await lose(page)
  const button = page.getByRole('button', { name: 'Reactivate' })
  await expect(button).toBeDisabled()
  await expect(page.getByText('The outcome of the last change to this account is unknown.')).toBeVisible()
  await discard(page).press('Enter')
  await expect(question(page)).toHaveCount(0)
  await expect(page.getByRole('main')).toBeFocused()
  await button.click()
  await expect(changes(page)).toContainText('reactivated')
})

for (const [fault, reason] of [
  ['Wrong API key', 'The service rejected the API key'],
  ['No such account', 'No such account. Correct the ids above.'],
] as const) {
  test(`a rejection is not an unknown outcome: ${fault}`, async ({ page }) => {
    await open(page, 'accounts')
    await toggleFault(page, fault)
    await deactivate(page)
    await expect(page.getByRole('alert')).toContainText('The account was not deactivated')
    await expect(page.getByRole('alert')).toContainText(reason)
    await expect(question(page)).toHaveCount(0)
    const button = page.getByRole('button', { name: 'Try again to deactivate it' })
    await toggleFault(page, fault)
    if (fault === 'No such account') {
      await expect(button).toHaveCount(0)
      await deactivate(page, 'v2')
    } else {
      await expect(button).not.toHaveClass(/primary/)
      await button.click()
    }
    await expect(changes(page)).toContainText('deactivated')
  })
}

for (const [retried, statuses] of [
  ['by the client', [0, 422]],
  ['by hand', [0, 0, 0, 422]],
] as const) {
  test(`a lost response, retried ${retried} and rejected with 422, leaves the outcome unknown`, async ({
    page,
  }) => {
    // Not by a route: the browser itself writes an error to the console for each failure.
    await page.addInitScript(statuses => {
      const left = [...statuses]
      globalThis.fetch = async () => {
        const status = left.shift()
        if (!status) throw new TypeError('Failed to fetch')
        return Response.json({ message: 'The account is already inactive.' }, { status })
      }
    }, statuses)
    await open(page, 'accounts', '?service=/api')
    await deactivate(page)
    await expect(question(page)).toContainText('It may have been applied.')
    if (retried === 'by hand') await retry(page).click()
    await expect(question(page)).toContainText('Last attempt: the service rejected the request (422)')
    await expect(page.getByText(/not deactivated/i)).toHaveCount(0)
    await page.reload()
    await expect(question(page)).toContainText('It may have been applied.')
  })
}

test.describe('in two tabs', () => {
  /** Two tabs that were open before anything was sent. */
  async function twoTabs(context: BrowserContext, query?: string): Promise<[Page, Page]> {
    const tabs: [Page, Page] = [await context.newPage(), await context.newPage()]
    for (const tab of tabs) {
      await open(tab, 'accounts', query)
      await expect(tab.getByRole('heading', { name: 'Accounts' })).toBeVisible()
    }
    return tabs
  }

  test('neither erases a key of the other, and each sees it', async ({ context }) => {
    const [one, other] = await twoTabs(context)
    await lose(one, 'v1')
    const key = await keyInDetails(one)
    await expect(question(other, 'v1')).toBeVisible()
    await lose(other, 'v2')
    await expect(question(one, 'v2')).toBeVisible()
    await one.reload()
    await expect(question(one, 'v2')).toBeVisible()
    expect(await keyInDetails(one)).toBe(key)
  })

  test('a write settled or discarded in one is shown as such in the other', async ({ context }) => {
    const [one, other] = await twoTabs(context)
    await lose(one)
    await retry(other).click()
    await expect(changes(other)).toContainText('deactivated')
    await expect(question(one)).toHaveCount(0)
    await expect(changes(one)).toContainText('deactivated')
    await expect(elsewhere(one)).toContainText('repeated in another tab. The service confirmed it at')
    await expect(elsewhere(other)).toHaveCount(0)

    await lose(one, 'v2')
    await expect(elsewhere(one)).toHaveCount(0)
    await discard(other).click()
    await expect(question(one, 'v2')).toHaveCount(0)
    await expect(elsewhere(one)).toContainText('discarded in another tab')
    await expect(elsewhere(other)).toHaveCount(0)
  })

  test('a change made in one ends the success message of the other', async ({ context }) => {
    const [one, other] = await twoTabs(context)
    await deactivate(one)
    await expect(latest(one)).toContainText('Account deactivated')
    await reactivate(other)
    await expect(changes(one)).toContainText('reactivated')
    await expect(latest(one)).toHaveCount(0)
    await expect(latest(other)).toContainText('Account reactivated')
  })

  test('a request in flight in one is not taken for lost in the other, until that tab is closed', async ({
    context,
  }) => {
    const [one, other] = await twoTabs(context, '?count=10&latency=60000')
    await deactivate(one)
    await expect(latest(one)).toContainText('Sending…')
    await enter(other)
    await expect(other.getByText('A change to this account is being sent.')).toBeVisible()
    await expect(question(other)).toHaveCount(0)
    await one.close()
    await expect(question(other)).toBeVisible()
  })
})

/** Makes `localStorage` refuse entries whose keys begin in this way. */
async function refuseEntries(page: Page, prefix: string) {
  await page.evaluate(prefix => {
    const { setItem } = Storage.prototype
    const allow = () => {
      Storage.prototype.setItem = setItem
    }
    Storage.prototype.setItem = function (key, value) {
      if (key.startsWith(prefix)) throw new DOMException('Full.', 'QuotaExceededError')
      setItem.call(this, key, value)
    }
    Object.assign(globalThis, { allow })
  }, prefix)
  return () => page.evaluate(() => (globalThis as unknown as { allow: () => void }).allow())
}

test('with storage full it says so and sends nothing, until there is room', async ({ page }) => {
  await open(page, 'accounts')
  const allow = await refuseEntries(page, 'react-table.write.')
  await deactivate(page)
  await expect(page.getByRole('alert')).toContainText('the browser’s storage is full or blocked')
  await expect(activity(page)).toContainText('Requests0')
  await allow()
  await page.getByRole('button', { name: 'Try again' }).press('Enter')
  await expect(changes(page)).toContainText('deactivated')
  await expect(page.getByRole('alert')).toHaveCount(0)
  await expect(page.getByRole('main')).toBeFocused()
})

test('with storage blocked it says so and sends nothing', async ({ page }) => {
  await page.addInitScript(() => {
    Object.defineProperty(globalThis, 'localStorage', {
      get() {
        throw new DOMException('Access is denied.', 'SecurityError')
      },
    })
  })
  await open(page, 'accounts')
  await reactivate(page)
  await expect(page.getByRole('alert')).toContainText('the browser’s storage is full or blocked')
  await expect(activity(page)).toContainText('Requests0')
})

test('shows a change that could not be saved, and after a reload no older one as the last', async ({
  page,
}) => {
  await open(page, 'accounts')
  await reactivate(page)
  await expect(changes(page)).toContainText('reactivated')
  await refuseEntries(page, 'react-table.change.')
  await deactivate(page)
  await expect(changes(page).getByRole('row').nth(1)).toContainText('deactivated')
  await page.reload()
  await expect(page.getByText('No change has been confirmed yet.')).toBeVisible()
})
