// What the sidebar shows, in the order in which a reader needs it. Names of pages are their paths in the repository.
import { globSync } from 'node:fs'

export const guides = [
  { text: 'Start', pages: docs('getting-started', 'options', 'probe', 'migrating') },
  {
    text: 'Lists',
    pages: docs('iterating-lists', 'changing-lists', 'exports', 'iterating-further', 'sync-to-database'),
  },
  { text: 'Calls', pages: docs('writes', 'batches', 'errors', 'typing', 'testing') },
  {
    text: 'Platforms',
    pages: [
      ...docs('runtimes', 'browser', 'react-query'),
      'examples/react-table/README',
      ...docs('networks'),
    ],
  },
  { text: 'In production', pages: docs('observing', 'rate-limits', 'scaling', 'performance') },
  { text: 'The service', pages: docs('interface', 'unspecified') },
]

export const project = [
  { text: 'How it works', pages: docs('architecture', 'one-call') },
  { text: 'Decisions', pages: ['docs/decisions/README', ...decisions()] },
  {
    text: 'The project',
    pages: [
      'CHANGELOG',
      'CONTRIBUTING',
      'examples/README',
      'SECURITY',
      'THIRD-PARTY-LICENSES',
      'bench/README',
      'test/simulation/README',
    ],
  },
]

function docs(...names) {
  return names.map(name => `docs/${name}`)
}

function decisions() {
  const files = globSync('docs/decisions/*.md', {
    cwd: new URL('..', import.meta.url),
    exclude: ['**/README.md'],
  })
  return files.map(file => file.replace(/\.md$/, '')).toSorted()
}
