import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const guides = filesBelow('docs', '.md').filter(page => !page.startsWith('api/'))
const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...guides.map(page => `docs/${page}`)]

describe.each(pages)('%s', page => {
  test('links only to what is there', () => {
    expect(linksOf(page).filter(link => !leadsSomewhere(page, link))).toEqual([])
  })
})

test('the built documentation has every guide', () => {
  const { projectDocuments } = JSON.parse(read('tools/typedoc.json')) as { projectDocuments: string[] }
  const names = new Set(projectDocuments.join().match(/[\w-]+/g))
  const isBuilt = (guide: string) => guide.startsWith('decisions/') || names.has(guide.replace(/\.md$/, ''))
  expect(guides.filter(guide => !isBuilt(guide))).toEqual([])
})

test('THIRD-PARTY-LICENSES.md has the versions that are bundled, and their licences', () => {
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

const architecture = read('docs/architecture.md')
const sources = filesBelow('src', '.ts')

describe('docs/architecture.md', () => {
  test('names every file of src', () => {
    const named = new Set(architecture.match(/[\w/-]+\.ts\b/g))
    expect(sources.filter(file => !named.has(file))).toEqual([])
  })

  test('names no file that is not there', () => {
    const listed = architecture.match(/^\| `([\w/-]+\.ts)`/gm)?.map(row => row.slice(3, -1))
    expect(listed?.filter(file => !sources.includes(file))).toEqual([])
  })

  test('shows who imports whom', () => {
    const shown = Object.fromEntries(picture())
    const actual = Object.fromEntries(
      [...picture().keys()].map(file => [file, importsOf(`${file}.ts`).map(withoutSuffix)]),
    )
    expect(shown).toEqual(actual)
  })

  test('shows every file of the client, each above all that it imports', () => {
    const floors = [...picture().keys()]
    const client = sources.filter(file => !file.startsWith('testing/')).map(withoutSuffix)
    expect(floors.toSorted()).toEqual(client.toSorted())
    for (const [file, imported] of picture()) {
      const floor = floors.indexOf(file)
      expect(
        imported.filter(other => floors.indexOf(other) <= floor),
        file,
      ).toEqual([])
    }
  })
})

describe('the imports of src, types counted,', () => {
  test('make no circle', () => {
    expect(circleAmong(sources)).toBeUndefined()
  })

  test('lead from the client to the fake service nowhere, and back only to the types of resources', () => {
    for (const file of sources) {
      const imported = importsOf(file)
      const strangers = file.startsWith('testing/')
        ? imported.filter(other => !/^(?:testing|resources)\//.test(other))
        : imported.filter(other => other.startsWith('testing/'))
      expect(strangers, file).toEqual([])
    }
  })
})

/** As paths from the folder on. */
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

function withoutSuffix(file: string): string {
  return file.replace(/\.ts$/, '')
}

/** The targets of a page's links, but for those that lead out of the project. */
function linksOf(page: string): string[] {
  const text = withoutCode(read(page))
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link as string)
  return links.filter(link => !/^[a-z]+:/.test(link))
}

function withoutCode(markdown: string): string {
  return markdown.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '``')
}

function leadsSomewhere(page: string, link: string): boolean {
  const [file = '', anchor] = link.split('#')
  const target = file === '' ? page : normalize(join(dirname(page), file))
  try {
    const text = read(target)
    return anchor === undefined || anchorsOf(text).has(anchor)
  } catch {
    return false
  }
}

/** As GitHub makes them of headings. */
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

/** The picture of architecture.md: lines of `file → what it imports`, from the top floor down. */
function picture(): Map<string, string[]> {
  const lines = architecture.match(/^[\w/-]+ +→.*$/gm) ?? []
  return new Map(
    lines.map(line => {
      const [file = '', imported = ''] = line.split('→')
      return [file.trim(), imported.split(/\s+/).filter(Boolean).toSorted()]
    }),
  )
}

/** The files of src that a file of src imports or exports from, as paths from src on. */
function importsOf(file: string): string[] {
  const from = [...read(`src/${file}`).matchAll(/^(?:import|export|\}).* from '(\.[^']+)\.js'/gm)]
  return from.map(([, target]) => `${normalize(join(dirname(file), target as string))}.ts`).toSorted()
}

function circleAmong(files: readonly string[]): string[] | undefined {
  const done = new Set<string>()
  function follow(file: string, way: readonly string[]): string[] | undefined {
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file]
    if (done.has(file)) return undefined
    for (const next of importsOf(file)) {
      const circle = follow(next, [...way, file])
      if (circle) return circle
    }
    done.add(file)
    return undefined
  }
  for (const file of files) {
    const circle = follow(file, [])
    if (circle) return circle
  }
  return undefined
}
