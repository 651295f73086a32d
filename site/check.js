// What VitePress does not check of the built site: that nothing in it is from another host, that no page writes to the
// console, that search finds the guides, and that the playground tells the truth.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
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

await page.goto(`${origin}/playground.html?seed=5&changes=2&kind=removed`)
const rates = page.getByText('of 100 runs')
await rates.nth(1).waitFor({ timeout: 120_000 })
const expected = ['Lost items silently in 100 of 100 runs.', 'Lost items silently in 0 of 100 runs.']
const found = await rates.allInnerTexts()
if (String(found) !== String(expected)) problems.push(`playground: ${found}`)

await page.goto(origin, { waitUntil: 'networkidle' })
for (const [words, guide] of [
  ['idempotency', 'Writes'],
  ['logs', 'Logs, metrics and traces'],
]) {
  await page.keyboard.press('Control+k')
  await page.getByRole('searchbox').fill(words)
  const result = page.getByRole('option').filter({ hasText: guide }).first()
  await result
    .waitFor({ timeout: 10_000 })
    .catch(() => problems.push(`search: ${words} does not find ${guide}`))
  await page.keyboard.press('Escape')
}

await browser.close()
console.log(problems.join('\n') || 'the site is as it should be')
process.exit(Math.min(problems.length, 1))
