// Fails if the built site has a link that leads nowhere, a file from another host, a page without a main landmark, guides
// that are not linked in order, or a search that does not find them.
import { globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'

const lunr = createRequire(import.meta.resolve('typedoc'))('lunr')
const root = join(import.meta.dirname, '../..')
const site = join(root, 'docs/api')
const files = new Set(globSync('**', { cwd: site }))
const pages = new Map(
  Array.from(files)
    .filter(file => file.endsWith('.html'))
    .map(file => [file, readFileSync(join(site, file), 'utf8')]),
)

const problems = [
  ...Array.from(pages).flatMap(problemsOf),
  ...problemsOfOrder(),
  ...['idempotency', 'cancel', 'page size']
    .filter(words => !findsGuide(words))
    .map(words => `search: ${words}`),
]
console.log(problems.join('\n') || `${pages.size} pages checked`)
process.exitCode = Math.min(problems.length, 1)

function problemsOf([page, html]) {
  const links = Array.from(html.matchAll(/ (href|src)="([^"]*)"/g))
  const broken = links.filter(([, , link]) => !leadsSomewhere(page, link))
  const foreign = html.match(/<(link|script|img|iframe)\b[^>]* (href|src)="(https?:)?\/\/[^>]*>/g) ?? []
  return [
    ...broken.map(([, , link]) => `${page}: ${link} leads nowhere`),
    ...foreign.map(tag => `${page}: ${tag} is from another host`),
    ...(html.split('<main>').length === 2 ? [] : [`${page}: not one main landmark`]),
  ]
}

function leadsSomewhere(page, link) {
  const { protocol, pathname, hash } = new URL(link.replaceAll('&amp;', '&'), `site:///${page}`)
  if (protocol !== 'site:') return true
  const file = decodeURIComponent(pathname.slice(1))
  const anchor = decodeURIComponent(hash.slice(1))
  return files.has(file) && (anchor === '' || !pages.has(file) || pages.get(file).includes(` id="${anchor}"`))
}

/** Follows the links to the next guide from the first one: they must lead to every guide, and back. */
function problemsOfOrder() {
  const guides = globSync('docs/{,decisions/}*.md', { cwd: root })
  const order = ['Getting_started.html']
  while (order.length <= guides.length && neighbour(order.at(-1), 'next'))
    order.push(neighbour(order.at(-1), 'next'))
  const oneWay = order.filter((guide, index) => neighbour(guide, 'prev') !== order[index - 1])
  return [
    ...(order.length === guides.length
      ? []
      : [`${order.length} of ${guides.length} guides are linked in order`]),
    ...oneWay.map(guide => `${guide}: the link to the previous guide is wrong`),
  ]
}

function neighbour(guide, rel) {
  return new RegExp(`<a href="([^"]*)" rel="${rel}"`).exec(pages.get(`documents/${guide}`))?.[1]
}

/** Whether one of the first three results is a guide. Searches as TypeDoc's page does, except for names that match. */
function findsGuide(words) {
  const [, data] = readFileSync(join(site, 'assets/search.js'), 'utf8').split('"')
  const { index, rows } = JSON.parse(inflateSync(Buffer.from(data, 'base64')).toString())
  const found = lunr.Index.load(index).search(words.replace(/\S+/g, '*$&*'))
  return found.slice(0, 3).some(({ ref }) => rows[Number(ref)].url.startsWith('documents/'))
}
