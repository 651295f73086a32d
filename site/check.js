// Checks of the built site that VitePress lacks: it loads nothing from other hosts, writes nothing to the console, is
// accessible, its tables fit, search finds the guides, and the playground is right.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AxeBuilder } from '@axe-core/playwright'
import { chromium } from 'playwright'
import { serve } from 'vitepress'
import { chromiumOptions } from '../tools/chromium.js'

const built = join(import.meta.dirname, '.vitepress/dist')
const problems = globSync('**/*.html', { cwd: built, exclude: ['demo/**'] }).flatMap(file => {
  const html = readFileSync(join(built, file), 'utf8')
  const foreign = html.match(/<(link|script|img|iframe)\b[^>]* (href|src)="(https?:)?\/\/[^>]*>/g) ?? []
  return foreign.map(tag => `${file}: ${tag} is from another host`)
})

const { server } = await serve({ root: import.meta.dirname, port: 0 })
const origin = `http://localhost:${server.address().port}`
const browser = await chromium.launch(chromiumOptions)
const page = await browser.newPage()
page.on('console', message => problems.push(`${page.url()}: console: ${message.text()}`))
page.on('pageerror', error => problems.push(`${page.url()}: ${error.message}`))

for (const path of ['/', '/docs/options.html', '/demo/']) {
  await page.goto(origin + path, { waitUntil: 'networkidle' })
}

for (const colorScheme of ['light', 'dark']) {
  const context = await browser.newContext({ colorScheme })
  for (const path of [
    '/',
    '/playground.html',
    '/docs/options.html',
    '/404.html',
    '/api/',
    '/api/virtual-accounts/classes/Client.html',
  ]) {
    const seen = await context.newPage()
    await seen.goto(origin + path, { waitUntil: 'networkidle' })
    // VitePress labels it without the keys shown beside it.
    const { violations } = await new AxeBuilder({ page: seen }).exclude('.DocSearch-Button').analyze()
    problems.push(...violations.map(({ id, nodes }) => `${path}, ${colorScheme}: ${id}: ${nodes[0].target}`))
  }
  await context.close()
}

for (const guide of globSync('{*,docs/**/*,api/**/*}.html', { cwd: built })) {
  await page.goto(`${origin}/${guide}`)
  for (const width of [320, 768, 960, 1280]) {
    await page.setViewportSize({ width, height: 900 })
    const cut = await page
      .locator('table')
      .evaluateAll(tables => tables.filter(table => table.scrollWidth > table.clientWidth + 1).length)
    if (cut > 0) problems.push(`${guide}: at ${width} px a table is cut`)
    const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    if (beyond > 0) problems.push(`${guide}: at ${width} px the page scrolls sideways`)
  }
}

const rates = page.getByText(/^Lost items silently in/)
const expectRates = async (...expected) => {
  for (const [index, text] of expected.entries()) {
    await rates
      .nth(index)
      .and(page.getByText(text))
      .waitFor({ timeout: 120_000 })
      .catch(async () => problems.push(`playground: ${await rates.nth(index).innerText()}, not ${text}`))
  }
}
await page.goto(`${origin}/playground.html?seed=5&changes=2&kind=removed`)
await expectRates('Lost items silently in 100 of 100 runs.', 'Lost items silently in 0 of 100 runs.')

// Superseded runs do not draw, and a red square says why its item was lost.
await page.goto(`${origin}/playground.html`)
await page.locator('button.lost').first().focus()
await page.getByText(/^It was item \d+, on page \d+\. .* was never read\.$/).waitFor()
await page.waitForTimeout(1_500)
await page.getByRole('slider').focus()
for (let press = 0; press < 3; press++) await page.keyboard.press('ArrowLeft')
await expectRates('Lost items silently in 0 of 100 runs.', 'Lost items silently in 0 of 100 runs.')
await page.getByText('got away with it. The client lost none.').waitFor()
if (!(await page.getByText('List changes never').isVisible())) problems.push('playground: it still changes')
if ((await page.locator('button.lost').count()) > 0) problems.push('playground: an overtaken run has drawn')

// Each of the many runs can be opened.
await page.getByTitle('Seed 7: lost none').first().click()
await page.getByText('This run, seed 7').first().waitFor()

// Nothing runs with an invalid seed.
for (const seed of ['', '-1', '1.5']) {
  await page.getByLabel('Seed').fill(seed)
  await page.getByText('The seed is a whole number').waitFor()
  if (await page.getByRole('button', { name: 'Replay' }).isEnabled())
    problems.push(`playground: seed ${seed} runs`)
}

await page.goto(origin, { waitUntil: 'networkidle' })
for (const [guide, words] of Object.entries({
  Lists: ['pagination', 'offset', 'filter', 'sort'],
  Options: ['maxRetries', 'authentication'],
  Writes: ['idempotency'],
  'Errors and retries': ['retry', 'timeout'],
  Testing: ['mock'],
  'Logs, metrics and traces': ['logs'],
})) {
  for (const word of words) {
    await page.keyboard.press('Control+k')
    await page.getByRole('searchbox').fill(word)
    await page
      .getByRole('option')
      .first()
      .and(page.getByRole('option').filter({ hasText: guide }))
      .waitFor({ timeout: 10_000 })
      .catch(() => problems.push(`search: ${word} does not find ${guide} first`))
    await page.keyboard.press('Escape')
  }
}

// A reader who is lost finds the search and the guides.
const lost = await browser.newPage()
await lost.goto(`${origin}/nothing-here`, { waitUntil: 'networkidle' })
await lost.getByRole('main').getByRole('button', { name: 'Search' }).click()
await lost.getByRole('searchbox').waitFor()
await lost.keyboard.press('Escape')
await lost.getByRole('link', { name: 'Errors and retries' }).click()
await lost.getByRole('heading', { name: 'Errors and retries' }).waitFor()

// If the sidebar is longer than the window, it shows the current page.
await page.setViewportSize({ width: 1280, height: 900 })
await page.goto(`${origin}/api/virtual-accounts/probe/functions/inferSchema.html`, {
  waitUntil: 'networkidle',
})
const active = await page.locator('.VPSidebarItem.is-link.is-active').boundingBox()
if (!active || active.y < 0 || active.y + active.height > 900)
  problems.push('inferSchema: the sidebar hides the active entry')

// The picture plays once, and not with reduced motion.
await page.goto(origin)
await page.getByText('reading, ').first().waitFor()
await page.getByText('The client lost none.').waitFor()
const calm = await browser.newPage({ reducedMotion: 'reduce' })
await calm.goto(origin, { waitUntil: 'networkidle' })
if (await calm.getByText('reading, ').first().isVisible())
  problems.push('/: moves in spite of reduced motion')

// Without JavaScript, the first page shows a finished run.
const still = await browser.newPage({ javaScriptEnabled: false })
await still.goto(origin)
if (!(await still.getByText('The client lost none.').isVisible()))
  problems.push('/: no run without JavaScript')

await browser.close()
console.log(problems.join('\n') || 'The site passes all checks.')
process.exit(Math.min(problems.length, 1))
