import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, vi } from 'vitest'

/** A program in README.md or in a guide. */
export interface Snippet {
  /** `README.md`, a page of the site, or the path in docs, such as `writes.md`. */
  readonly page: string
  readonly heading: string
  readonly language: string
  readonly code: string
  /** The text block right after it, which it also prints. */
  readonly shown: string | undefined
}

export const root: string = join(import.meta.dirname, '../..')

/** The pages whose programs are compiled and run. */
export const pages: readonly string[] = [
  'README.md',
  'site/index.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .map(file => file.replaceAll('\\', '/'))
    .filter(file => file.endsWith('.md'))
    .toSorted(),
]

export function readPage(page: string): string {
  const isElsewhere = page === 'README.md' || page.startsWith('site/')
  return readFileSync(join(root, isElsewhere ? '' : 'docs', page), 'utf8')
}

/** The programs of a page, in order. */
export function snippetsOf(page: string): Snippet[] {
  const blocks = readPage(page).matchAll(
    /^#+ (.*)$|^```(\w+)\n([\s\S]*?)^```(?:\n+```text\n([\s\S]*?)^```)?/gm,
  )
  let heading = ''
  const snippets: Snippet[] = []
  for (const [, title, language = '', code = '', shown] of blocks) {
    if (title !== undefined) heading = title
    else if (/^(?:ts|tsx|js)$/.test(language)) snippets.push({ page, heading, language, code, shown })
  }
  return snippets
}

/** The one program below a heading. Call it with literals: snippets.node.test.ts looks for them. */
export function snippet(page: string, heading: string): string {
  const [found, ...others] = snippetsOf(page).filter(block => block.heading === heading)
  if (!found || others.length > 0) throw new Error(`${page}: expected one program below "${heading}"`)
  return found.code
}

/** What a program may import from elsewhere than the installed packages, by name. */
export type Modules = Readonly<Record<string, () => unknown>>

// biome-ignore lint/suspicious/noExplicitAny: what a program declares has the types that it says
export type Declared = Record<string, any>

/**
 * Runs a program as a reader would, and returns what it declares. What it prints must be what its comments say:
 * `console.log(status) // 200`.
 *
 * @param givens What it uses without declaring it.
 */
export async function runCode(code: string, givens: object, modules: Modules): Promise<Declared> {
  const load = (name: string) => modules[name]?.() ?? import(/* @vite-ignore */ name)
  const before = printed().length
  const scope = { ...givens, load }
  const program = new AsyncFunction(...Object.keys(scope), toFunctionBody(code))
  const declared = (await program(...Object.values(scope))) as Declared
  expectInOrder(printed().slice(before), outputsOf(code))
  return declared
}

/** The lines that `console.log` was given. */
export function printed(): string[] {
  return vi.mocked(console.log).mock.calls.map(values => values.map(String).join(' '))
}

function outputsOf(code: string): string[] {
  return Array.from(code.matchAll(/console\.log\(.*\) \/\/ (.*)/g), ([, output]) => output as string)
}

function expectInOrder(lines: readonly string[], expected: readonly string[]): void {
  let from = 0
  for (const output of expected) {
    const at = lines.indexOf(output, from)
    if (at === -1) expect(lines.slice(from), `after the first ${from} lines`).toContain(output)
    from = at + 1
  }
}

const AsyncFunction = (async () => {}).constructor as new (
  ...parameters: string[]
) => (...values: unknown[]) => Promise<unknown>

/** In braces, so that a program can declare again what it is given. Returns what the program declares. */
function toFunctionBody(code: string): string {
  const script = ts
    .transpile(code, { target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext })
    .replace(/^export \{\};?$/gm, '')
    .replace(/^export (?=const|function|async|class)/gm, '')
    .replace(
      /^import (?:\* as (\w+)|(\w+)|(\{[\s\S]*?\})) from '([^']+)';?/gm,
      (_, all?: string, only?: string, some?: string, name?: string) => {
        const names = all ?? (only ? `{ default: ${only} }` : some?.replaceAll(' as ', ': '))
        return `const ${names} = await load('${name}')`
      },
    )
  return `{\n${script}\nreturn { ${namesIn(code).join(', ')} }\n}`
}

/** The names that a module declares at its top. */
function namesIn(code: string): string[] {
  const { statements } = ts.createSourceFile('snippet.tsx', code, ts.ScriptTarget.ESNext)
  return statements.flatMap(statement => {
    // `declare function` has no body.
    if (ts.isFunctionDeclaration(statement)) return (statement.body && statement.name?.text) ?? []
    if (!ts.isVariableStatement(statement)) return []
    return statement.declarationList.declarations.flatMap(({ name }) => namesOf(name))
  })
}

function namesOf(name: ts.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text]
  return name.elements.flatMap(element => (ts.isBindingElement(element) ? namesOf(element.name) : []))
}
