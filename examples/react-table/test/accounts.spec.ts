import { type BrowserContext, expect, type Page } from '@playwright/test'
import { faultSwitch, holdRequests, layoutShift, open, test, validationMessage } from './page.ts'

async function enter(page: Page, account = 'v1') {
  await page.getByLabel('Customer id').fill('c1')
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

const dialog = (page: Page) => page.getByRole('dialog')
const question = (page: Page, account = 'v1') =>
  page.getByRole('region', { name: `Was account ${account} deactivated?` })
const latest = (page: Page) => page.getByRole('status', { name: 'Latest change' })
const changes = (page: Page) => page.getByRole('table', { name: 'Last changes made in this browser' })
const retry = (page: Page) => page.getByRole('button', { name: 'Retry with the same key' })
const activity = (page: Page) => page.getByRole('region', { name: 'Client activity' })

async function keyInDetails(page: Page, account = 'v1') {
  const details = question(page, account)
  await details.getByText('Details').click()
  const text = await details.getByText('Idempotency-Key').innerText()
  return /Idempotency-Key: (\S+)/.exec(text)?.[1]
}

const dateWithTime = /\d{1,2}\s[A-Z][a-z]{2}\s\d{4},\s\d\d:\d\d:\d\d/

test('deactivates and reactivates, and shows the last change as what it is', async ({ page }) => {
  await open(page, 'accounts')
  await expect(
    page.getByText('Not the status of the accounts: the service does not report it.'),
  ).toBeVisible()

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

test('names the account before it deactivates it, and sends nothing unless that is confirmed', async ({
  page,
}) => {
  await open(page, 'accounts')
  await enter(page, 'va-7')
  const button = page.getByRole('button', { name: 'Deactivate…' })

  await button.click()
  await expect(dialog(page)).toContainText('Deactivate account va-7?')
  await expect(dialog(page)).toContainText('customer c1')
  await page.keyboard.press('Enter')
  await expect(dialog(page)).toHaveCount(0)
  await expect(button).toBeFocused()

  await button.click()
  await page.keyboard.press('Escape')
  await expect(dialog(page)).toHaveCount(0)
  await expect(activity(page)).toContainText('Requests0')
  await expect(page.getByText('No account has been changed yet.')).toBeVisible()
})

test('Enter in the form changes no account', async ({ page }) => {
  await open(page, 'accounts')
  await enter(page)
  await page.getByLabel('Virtual account id').press('Enter')
  await page.getByLabel('Customer id').press('Enter')
  await expect(dialog(page)).toHaveCount(0)

  // A later change is the first request.
  await reactivate(page, 'v2')
  await expect(changes(page).getByRole('row')).toHaveCount(2)
  await expect(activity(page)).toContainText('Requests1')
})

test('asks for both ids, and takes no spaces for one', async ({ page }) => {
  await open(page, 'accounts')
  await page.getByLabel('Customer id').fill('c1')
  await page.getByLabel('Virtual account id').fill('  ')
  await page.getByRole('button', { name: 'Deactivate…' }).click()
  await expect(page.getByLabel('Virtual account id')).toBeFocused()
  await expect(dialog(page)).toHaveCount(0)
})

test('marks an id that the client refuses, with its reason, and announces nothing as sent', async ({
  page,
}) => {
  await open(page, 'accounts')
  await page.evaluate(() => {
    const said: string[] = []
    Object.assign(globalThis, { said })
    new MutationObserver(() => said.push(document.body.innerText)).observe(document.body, {
      subtree: true,
      childList: true,
      characterData: true,
    })
  })
  const customer = page.getByLabel('Customer id')
  const account = page.getByLabel('Virtual account id')
  for (const name of ['Reactivate', 'Deactivate…']) {
    await customer.fill('..')
    await account.fill('v1')
    await page.getByRole('button', { name }).click()
    await expect(customer).toBeFocused()
    expect(await validationMessage(customer)).toBe('Expected an id, got ".."')
    expect(await validationMessage(account)).toBe('')
    await expect(dialog(page)).toHaveCount(0)
    await expect(page.getByRole('alert')).toHaveCount(0)

    await customer.fill('c1')
    expect(await validationMessage(customer)).toBe('')
    await account.fill('undefined')
    await page.getByRole('button', { name }).click()
    await expect(account).toBeFocused()
    expect(await validationMessage(account)).toBe('Expected an id, got "undefined"')
  }
  const said = await page.evaluate(() => (globalThis as unknown as { said: string[] }).said.join())
  expect(said).not.toMatch(/sen[dt]/i)

  await reactivate(page)
  await expect(changes(page)).toContainText('reactivated')
  await expect(activity(page)).toContainText('Requests1')
})

test('no change is sent, or sent again, before the service accepts changes', async ({ page }) => {
  await page.clock.install({ time: '2026-11-21T15:00:00' })
  await open(page, 'accounts')
  await faultSwitch(page, 'Rate limited').click()
  await reactivate(page)
  await expect(page.getByRole('alert')).toContainText('Too many requests')
  const buttons = ['Try again to reactivate it', 'Reactivate', 'Deactivate…'].map(name =>
    page.getByRole('button', { name, exact: true }),
  )
  for (const button of buttons) await expect(button).toBeDisabled()
  await expect(page.getByText(/^The service asks to wait until 15:0\d:\d\d\.$/)).toBeVisible()

  await faultSwitch(page, 'Rate limited').click()
  await page.clock.fastForward(66_000)
  for (const button of buttons) await expect(button).toBeEnabled()
  await page.getByRole('button', { name: 'Reactivate', exact: true }).click()
  await expect(changes(page)).toContainText('reactivated')
})

test('keeps the key over a reload while the outcome is unknown, and retries with it', async ({ page }) => {
  await open(page, 'accounts')
  await faultSwitch(page, 'Lost responses').click()
  await deactivate(page)
  await expect(question(page)).toContainText('It may have been applied')
  await expect(question(page)).toContainText(dateWithTime)
  const key = await keyInDetails(page)

  await page.reload()
  await expect(question(page)).toContainText('It may have been applied')
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

test('shows what is unknown from the first paint on', async ({ page }) => {
  await open(page, 'accounts')
  await faultSwitch(page, 'Lost responses').click()
  await deactivate(page)
  await expect(question(page)).toBeVisible()
  await page.reload()
  await expect(question(page)).toBeVisible()
  expect(await layoutShift(page)).toBeLessThan(0.05)
})

test('asks after a reload when the page was closed before the response', async ({ page }) => {
  await holdRequests(page, { after: 0 })
  await open(page, 'accounts')
  await deactivate(page)
  await expect(page.getByText('Sending…')).toBeVisible()
  await expect(question(page)).toHaveCount(0)
  await page.reload()
  await expect(question(page)).toBeVisible()
})

test('a rejected retry leaves the outcome unknown', async ({ page }) => {
  await open(page, 'accounts')
  await faultSwitch(page, 'Lost responses').click()
  await deactivate(page)
  await expect(question(page)).toBeVisible()
  await faultSwitch(page, 'Lost responses').click()
  await faultSwitch(page, 'Wrong API key').click()
  await retry(page).click()
  await expect(question(page)).toContainText('Last attempt: the service rejected the API key')
  await page.reload()
  await expect(question(page)).toBeVisible()
})

test('starts no other change of an account before the last one is settled or discarded', async ({ page }) => {
  await open(page, 'accounts')
  await faultSwitch(page, 'Lost responses').click()
  await deactivate(page)
  await expect(question(page)).toBeVisible()
  const button = page.getByRole('button', { name: 'Reactivate' })
  await expect(button).toHaveAttribute('aria-disabled', 'true')
  await expect(page.getByText('The outcome of the last change to this account is unknown.')).toBeVisible()

  await faultSwitch(page, 'Lost responses').click()
  await page.getByRole('button', { name: 'I checked the account: discard this request' }).press('Enter')
  await expect(question(page)).toHaveCount(0)
  await expect(page.getByRole('main')).toBeFocused()
  await button.click()
  await expect(changes(page)).toContainText('reactivated')
})

test('a rejection is not an unknown outcome, and its retry is not the obvious thing to do', async ({
  page,
}) => {
  await open(page, 'accounts')
  await faultSwitch(page, 'Wrong API key').click()
  await deactivate(page)
  await expect(page.getByRole('alert')).toContainText('The account was not deactivated')
  await expect(page.getByRole('alert')).toContainText('The service rejected the API key')
  await expect(page.getByRole('alert')).toContainText('account v1 of customer c1')
  await expect(question(page)).toHaveCount(0)
  const button = page.getByRole('button', { name: 'Try again to deactivate it' })
  await expect(button).not.toHaveClass(/primary/)

  await faultSwitch(page, 'Wrong API key').click()
  await button.click()
  await expect(changes(page)).toContainText('deactivated')
})

test('an account that does not exist is called that, with what to check', async ({ page }) => {
  await open(page, 'accounts')
  await faultSwitch(page, 'No such account').click()
  await reactivate(page)
  await expect(page.getByRole('alert')).toContainText('The account was not reactivated')
  await expect(page.getByRole('alert')).toContainText('No such account. Check both ids.')
  await expect(page.getByRole('button', { name: 'Try again to reactivate it' })).not.toHaveClass(/primary/)

  await faultSwitch(page, 'No such account').click()
  await reactivate(page)
  await expect(changes(page)).toContainText('reactivated')
})

test('the activity names the account, and calls a lost response not a missing network', async ({ page }) => {
  await open(page, 'accounts')
  await faultSwitch(page, 'Lost responses').click()
  await deactivate(page, 'va-7')
  await expect(question(page, 'va-7')).toBeVisible()
  const call = activity(page).getByRole('listitem').first()
  await expect(call).toContainText('POST deactivate')
  await expect(call).toContainText('account va-7')
  await expect(call).toContainText('customer c1')
  await expect(call).toContainText('no complete response')
  await expect(call).not.toContainText('no connection')
})

test('nothing moves when the response is late, lost or there', async ({ page }) => {
  const requests = await holdRequests(page, { after: 0 })
  await open(page, 'accounts')
  await deactivate(page)
  await expect(latest(page)).toContainText('Sending…')
  await requests.pass()
  await expect(changes(page)).toContainText('deactivated')
  await faultSwitch(page, 'Lost responses').click()
  await deactivate(page)
  await expect(question(page)).toBeVisible()
  await requests.pass(0)
  await retry(page).click()
  await expect(latest(page)).toContainText('Sending…')
  await requests.pass()
  await expect(question(page)).toBeVisible()
  expect(await layoutShift(page)).toBeLessThan(0.05)
})

const elsewhere = (page: Page) => page.getByRole('status', { name: 'Resolved in another tab' })

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
    await faultSwitch(one, 'Lost responses').click()
    await deactivate(one, 'v1')
    await expect(question(one, 'v1')).toBeVisible()
    const key = await keyInDetails(one, 'v1')
    await expect(question(other, 'v1')).toBeVisible()

    await faultSwitch(other, 'Lost responses').click()
    await deactivate(other, 'v2')
    await expect(question(other, 'v2')).toBeVisible()
    await expect(question(one, 'v2')).toBeVisible()

    await one.reload()
    await expect(question(one, 'v2')).toBeVisible()
    expect(await keyInDetails(one, 'v1')).toBe(key)
  })

  test('a change settled in one is settled in the other', async ({ context }) => {
    const [one, other] = await twoTabs(context)
    await faultSwitch(one, 'Lost responses').click()
    await deactivate(one)
    await expect(question(one)).toBeVisible()

    await retry(other).click()
    await expect(changes(other)).toContainText('deactivated')
    await expect(question(one)).toHaveCount(0)
    await expect(changes(one)).toContainText('deactivated')
    await expect(elsewhere(one)).toContainText('Account deactivated')
    await expect(elsewhere(one)).toContainText('repeated in another tab. The service confirmed it at')
    await expect(elsewhere(other)).toHaveCount(0)

    await faultSwitch(one, 'Lost responses').click()
    await reactivate(one)
    await expect(latest(one)).toContainText('Account reactivated')
    await expect(elsewhere(one)).toHaveCount(0)
  })

  test('a request discarded in one is said to be discarded in the other', async ({ context }) => {
    const [one, other] = await twoTabs(context)
    await faultSwitch(one, 'Lost responses').click()
    await deactivate(one)
    await expect(question(one)).toBeVisible()

    await other.getByRole('button', { name: 'I checked the account: discard this request' }).click()
    await expect(question(one)).toHaveCount(0)
    await expect(elsewhere(one)).toContainText('account v1 of customer c1')
    await expect(elsewhere(one)).toContainText('discarded in another tab')
    await expect(question(other)).toHaveCount(0)
    await expect(elsewhere(other)).toHaveCount(0)
  })

  test('a change made in one ends the success message of the other', async ({ context }) => {
    const [one, other] = await twoTabs(context)
    await deactivate(one)
    await expect(latest(one)).toContainText('Account deactivated')
    await deactivate(other, 'v2')
    await expect(changes(one).getByRole('row')).toHaveCount(3)
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

test('with storage full it says so and sends nothing, until there is room', async ({ page }) => {
  await open(page, 'accounts')
  await page.evaluate(() => {
    for (let size = 2 ** 22; size >= 1; size /= 2) {
      try {
        for (let index = 0; ; index++) localStorage.setItem(`filler-${size}-${index}`, 'x'.repeat(size))
      } catch {
        // Full for this size.
      }
    }
  })
  await deactivate(page)
  await expect(page.getByRole('alert')).toContainText(
    'Nothing was sent: the browser’s storage is full or blocked',
  )
  await expect(page.getByRole('alert')).toContainText('account v1 of customer c1')
  await expect(activity(page)).toContainText('Requests0')

  await page.evaluate(() => localStorage.clear())
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
  await expect(page.getByRole('alert')).toContainText(
    'Nothing was sent: the browser’s storage is full or blocked',
  )
  await expect(activity(page)).toContainText('Requests0')
})

test('shows a change that could not be saved, and after a reload no older one as the last', async ({
  page,
}) => {
  await open(page, 'accounts')
  await reactivate(page)
  await expect(changes(page)).toContainText('reactivated')
  await page.evaluate(() => {
    const { setItem } = Storage.prototype
    Storage.prototype.setItem = function (key, value) {
      if (key.startsWith('react-table.change.')) throw new DOMException('Full.', 'QuotaExceededError')
      setItem.call(this, key, value)
    }
  })
  await deactivate(page)
  await expect(changes(page).getByRole('row').nth(1)).toContainText('deactivated')
  await page.reload()
  await expect(page.getByText('No account has been changed yet.')).toBeVisible()
})
