import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, matchesGlob, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const guides = filesBelow('docs', '.md')
const others = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'THIRD-PARTY-LICENSES.md',
  'examples/README.md',
  'examples/react-table/README.md',
  'site/index.md',
]
const pages = [...others, ...guides.map(page => `docs/${page}`)]

describe.each(pages)('%s', page => {
  test('links only to pages, headings and files that exist', () => {
    expect(linksOf(page).filter(link => !exists(page, link))).toEqual([])
  })

  test('has code that is at most 80 columns wide', () => {
    expect(codeLinesOf(page).filter(line => line.length > 80)).toEqual([])
  })
})

test('docs/architecture.md shows only files that exist', () => {
  const [tree = ''] = read('docs/architecture.md').match(/^```text[\s\S]*?^```/m) ?? []
  const shown = tree.match(/[\w-]+\.ts/g) ?? []
  const names = new Set(filesBelow('src', '.ts').map(file => basename(file)))
  expect(shown.length).toBeGreaterThan(20)
  expect(shown.filter(name => !names.has(name))).toEqual([])
})

test('README.md begins with commands, which CI runs as they are', () => {
  const [, block = ''] = /^```sh\n([\s\S]*?)^```/m.exec(read('README.md')) ?? []
  const commands = block
    .trim()
    .split('\n')
    .map(line => line.replace(/ +#.*/, ''))
  expect(commands).toEqual(['npm ci && npm run demo', 'npm ci && npm test'])
  for (const command of commands) expect(read('.ci/run')).toContain(`() { ${command}; }\n`)
})

test('pages in the package link only to files in the package', () => {
  const packed = pages.filter(isPacked)
  expect(packed.length).toBeGreaterThan(15)
  const links = packed.flatMap(page =>
    linksOf(page).map(link => ({ page, file: normalize(join(dirname(page), link.replace(/#.*/, ''))) })),
  )
  expect(links.length).toBeGreaterThan(100)
  // Pictures of guides are too large for the package.
  const isPicture = (file: string) => /^docs\/media\/.*\.webp$/.test(file)
  const dead = links.filter(({ page, file }) => file !== dirname(page) && !isPicture(file) && !isPacked(file))
  expect(dead).toEqual([])
})

test('getting-started.md lists every guide', () => {
  const listed = linksOf('docs/getting-started.md')
  expect(guides.filter(guide => guide !== 'getting-started.md' && !listed.includes(guide))).toEqual([])
})

describe.each(guides)('docs/%s', guide => {
  test('is plain Markdown with one first heading, and no picture that the package lacks', () => {
    const text = withoutCode(read(`docs/${guide}`))
    expect(text.match(/^# /gm)).toHaveLength(1)
    // bench/report.js finds by these where to put its tables.
    expect(text.match(/<!-- (?!\/?bench)/g)).toBeNull()
    const pictures = Array.from(text.matchAll(/!\[[^\]]*\]\(([^)]+)\)/g), ([, target]) => `docs/${target}`)
    expect(pictures.filter(file => isPacked(`docs/${guide}`) && !isPacked(file))).toEqual([])
  })
})

test('THIRD-PARTY-LICENSES.md has the bundled versions and their licences', () => {
  const { devDependencies } = JSON.parse(read('package.json')) as { devDependencies: Record<string, string> }
  const licences = read('THIRD-PARTY-LICENSES.md')
  for (const [name, file] of [
    ['ky', 'license'],
    ['zod', 'LICENSE'],
    ['@standard-schema/spec', 'LICENSE'],
  ] as const) {
    expect(licences).toContain(`| ${name} | ${devDependencies[name]} |`)
    expect(licences).toContain(
      `## ${name} ${devDependencies[name]}\n\n\`\`\`text\n${read(`node_modules/${name}/${file}`).trim()}\n`,
    )
  }
})

/** Whether npm packs a file: by `files` of package.json, or always. */
function isPacked(file: string): boolean {
  const { files } = JSON.parse(read('package.json')) as { files: string[] }
  const patterns = [...files, ...files.map(entry => `${entry}/**`), 'README.md', 'LICENSE']
  return patterns.some(pattern => matchesGlob(file, pattern))
}

/** Paths relative to the folder. */
function filesBelow(folder: string, suffix: string): string[] {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  return files
    .map(file => file.replaceAll('\\', '/'))
    .filter(file => file.endsWith(suffix))
    .toSorted()
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

/** The targets of a page's links and images, except for those to other sites. */
function linksOf(page: string): string[] {
  const text = withoutCode(read(page))
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link as string)
  return links.filter(link => !/^[a-z]+:/.test(link))
}

function withoutCode(markdown: string): string {
  return markdown.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '``')
}

function exists(page: string, link: string): boolean {
  const [file = '', anchor] = link.split('#')
  // On the site, paths may begin at its root.
  const folder = file.startsWith('/') ? '' : dirname(page)
  const target = file === '' ? page : normalize(join('.', folder, file))
  try {
    const text = read(target)
    return anchor === undefined || anchorsOf(text).has(anchor)
  } catch {
    return false
  }
}

/** Lines of programs and commands. Messages and diagrams may be wider. */
function codeLinesOf(page: string): string[] {
  const blocks = Array.from(read(page).matchAll(/^```(\w*).*\n([\s\S]*?)^```/gm))
  return blocks.flatMap(([, language, code = '']) => (language === 'text' ? [] : code.split('\n')))
}

/** Anchors of headings, as GitHub creates them. */
function anchorsOf(markdown: string): Set<string> {
  const headings = markdown.replace(/^```[\s\S]*?^```/gm, '').match(/^#+ .*$/gm) ?? []
  return new Set(
    headings.map(heading =>
      heading
        .replace(/^#+ /, '')
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}
