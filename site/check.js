// Fails if the built site has a link that leads nowhere, something from another host, or a guide that the sidebar lacks, if
// a page writes to the console, or if search does not find a guide.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright'
import { serve } from 'vitepress'
import { chromiumOptions } from '../tools/chromium.js'
import { guides, project } from './guides.js'

const root = join(import.meta.dirname, '..')
const site = join(import.meta.dirname, '.vitepress/dist')
const files = new Set(globSync('**', { cwd: site }))
const pages = new Map(
  Array.from(files)
    .filter(file => file.endsWith('.html') && !file.startsWith('demo/'))
    .map(file => [file, readFileSync(join(site, file), 'utf8')]),
)

const problems = [
  ...Array.from(pages).flatMap(problemsOf),
  ...missingGuides(),
  ...(await problemsInChromium()),
]
console.log(problems.join('\n') || `${pages.size} pages checked`)
process.exit(Math.min(problems.length, 1))

function problemsOf([page, html]) {
  const links = Array.from(html.matchAll(/ (?:href|src)="([^"]*)"/g), ([, link]) => link)
  const foreign = html.match(/<(link|script|img|iframe)\b[^>]* (href|src)="(https?:)?\/\/[^>]*>/g) ?? []
  return [
    ...links.filter(link => !leadsSomewhere(page, link)).map(link => `${page}: ${link} leads nowhere`),
    ...foreign.map(tag => `${page}: ${tag} is from another host`),
  ]
}

function leadsSomewhere(page, link) {
  const { protocol, pathname, hash } = new URL(link.replaceAll('&amp;', '&'), `site:///${page}`)
  if (protocol !== 'site:') return true
  const file = decodeURIComponent(pathname.slice(1)).replace(/(^|\/)$/, '$1index.html')
  const anchor = decodeURIComponent(hash.slice(1))
  return files.has(file) && (anchor === '' || !pages.has(file) || pages.get(file).includes(` id="${anchor}"`))
}

function missingGuides() {
  const shown = new Set([...guides, ...project].flatMap(({ pages }) => pages.map(page => `${page}.md`)))
  const all = globSync('docs/**/*.md', { cwd: root })
  return all.filter(guide => !shown.has(guide)).map(guide => `site/guides.js lacks ${guide}`)
}

async function problemsInChromium() {
  const { server } = await serve({ root: import.meta.dirname, port: 0 })
  const origin = `http://localhost:${server.address().port}`
  const browser = await chromium.launch(chromiumOptions)
  const page = await browser.newPage()
  const found = []
  page.on('console', message => found.push(`${page.url()}: console: ${message.text()}`))
  page.on('pageerror', error => found.push(`${page.url()}: ${error.message}`))
  for (const path of ['/', '/docs/options.html', '/playground.html', '/demo/']) {
    await page.goto(origin + path, { waitUntil: 'networkidle' })
  }
  await page.goto(`${origin}/playground.html`)
  await page
    .getByRole('status')
    .filter({ hasText: 'Verified: complete' })
    .waitFor()
    .catch(() => found.push('playground: no verified loop completes'))
  await page.goto(origin, { waitUntil: 'networkidle' })
  for (const [words, guide] of [
    ['idempotency', 'Writes'],
    ['cancel', 'Iterating lists'],
    ['page size', 'Iterating lists'],
    ['logging', 'Logs, metrics and traces'],
  ]) {
    await page.keyboard.press('Control+k')
    await page.getByRole('searchbox').fill(words)
    const result = page.getByRole('option').filter({ hasText: guide }).first()
    await result
      .waitFor({ timeout: 10_000 })
      .catch(() => found.push(`search: ${words} does not find ${guide}`))
    await page.keyboard.press('Escape')
  }
  await browser.close()
  return found
}
