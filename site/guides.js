// The sidebar, in reading order. Pages are named by their paths in the repository.
import { globSync } from 'node:fs'

const root = new URL('..', import.meta.url)

const chosen = [
  { text: 'Start', pages: docs('getting-started', 'options', 'service') },
  { text: 'Read lists', pages: docs('lists', 'exports') },
  { text: 'Calls', pages: docs('writes', 'errors', 'typing', 'testing') },
  { text: 'Platforms', pages: docs('browser', 'runtimes') },
  { text: 'In production', pages: docs('observing', 'performance') },
  { text: 'Examples', pages: pagesIn('examples/{,*/}README.md') },
  { text: 'The project', pages: ['CHANGELOG', 'SECURITY'] },
]
const architecture = 'docs/architecture'
const isChosen = page => chosen.some(({ pages }) => pages.includes(page))
const others = pagesIn('docs/*.md').filter(page => page !== architecture && !isChosen(page))

export const guides = others.length > 0 ? [...chosen, { text: 'More', pages: others }] : chosen

export const contributors = [
  {
    text: 'For contributors',
    pages: [
      'CONTRIBUTING',
      architecture,
      ...pagesIn('docs/decisions/*.md'),
      'test/simulation/README',
      'bench/README',
      'THIRD-PARTY-LICENSES',
    ],
  },
]

function docs(...names) {
  return names.map(name => `docs/${name}`)
}

function pagesIn(pattern) {
  const files = globSync(pattern, { cwd: root })
  return files.map(file => file.replace(/\.md$/, '')).toSorted()
}
