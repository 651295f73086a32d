// What the sidebar shows, in the order in which a reader needs it. Names of pages are their paths in the repository.
import { existsSync, globSync } from 'node:fs'

const root = new URL('..', import.meta.url)

const chosen = [
  { text: 'Start', pages: docs('getting-started', 'options', 'probe') },
  { text: 'Lists', pages: docs('lists', 'changing-lists', 'exports') },
  { text: 'Calls', pages: docs('writes', 'errors', 'typing', 'testing') },
  { text: 'Platforms', pages: [...docs('browser', 'runtimes'), 'examples/react-table/README'] },
  { text: 'In production', pages: docs('observing', 'scaling', 'performance') },
  { text: 'The service', pages: docs('interface') },
].map(({ text, pages }) => ({ text, pages: pages.filter(page => existsSync(new URL(`${page}.md`, root))) }))

const others = pagesIn('docs/*.md').filter(
  page => page !== 'docs/architecture' && !chosen.some(({ pages }) => pages.includes(page)),
)

export const guides = others.length > 0 ? [...chosen, { text: 'More', pages: others }] : chosen

export const project = [
  { text: 'How it works', pages: ['docs/architecture', ...pagesIn('docs/decisions/*.md')] },
  {
    text: 'The project',
    pages: pagesIn(
      '{CHANGELOG,CONTRIBUTING,SECURITY,THIRD-PARTY-LICENSES,{examples,bench,test/simulation}/README}.md',
    ),
  },
]

function docs(...names) {
  return names.map(name => `docs/${name}`)
}

function pagesIn(pattern) {
  const files = globSync(pattern, { cwd: root })
  return files.map(file => file.replace(/\.md$/, '')).toSorted()
}
