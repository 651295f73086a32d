import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { run } from './guide.ts'
import { outputsOf, pages, root, type Snippet, snippetsOf } from './snippets.ts'

// Each block of TypeScript is compiled. A block that shows what it prints is run here, unless a test names it. Any other
// block must be named by a test in this folder, with literals, or the first test fails.

const programs = pages
  .flatMap(snippetsOf)
  .filter(({ language }) => ['ts', 'tsx', 'js', 'html'].includes(language))
const nameOf = ({ page, heading, number }: Snippet) => `${page}: ${heading} ${number}`

const tests = globSync('*.ts', { cwd: import.meta.dirname }).map(file =>
  readFileSync(join(import.meta.dirname, file), 'utf8'),
)
const calls = tests.flatMap(text => [
  ...text.matchAll(/\bsnippet\(\s*'([^']+)',\s*'([^']+)'(?:,\s*(\d+))?,?\s*\)/g),
])
const named = new Set(calls.map(([, page, heading, number = 1]) => `${page}: ${heading} ${number}`))
const others = programs.filter(block => !named.has(nameOf(block)))
const isSelfTest = ({ code, language }: Snippet) => language !== 'html' && outputsOf(code).length > 0

test('every block is run', () => {
  expect(others.filter(block => !isSelfTest(block)).map(nameOf)).toEqual([])
})

describe('a block prints what it shows', () => {
  test.each(others.filter(isSelfTest).map(block => [nameOf(block), block.code]))('%s', async (_, code) => {
    await run(code)
  })
})

/** Blocks that others import. */
const fileNames: Record<string, string> = { 'react-query.md: Queries 1': 'queries' }

test('the TypeScript of all pages compiles', { timeout: 120_000 }, () => {
  const here = import.meta.dirname
  const files = new Map(
    programs
      .filter(({ language }) => language.startsWith('ts'))
      .map(block => {
        const name = fileNames[nameOf(block)] ?? nameOf(block).replaceAll('/', ' ')
        return [join(here, `${name}.${block.language}`), `${block.code}\nexport {}`]
      }),
  )
  files.set(join(here, 'given.d.ts'), given)
  const config = ts.getParsedCommandLineOfConfigFile(
    join(here, 'tsconfig.json'),
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: () => {},
    },
  )
  const host = ts.createCompilerHost(config?.options ?? {})
  const { fileExists, readFile } = host
  host.fileExists = file => files.has(file) || fileExists(file)
  host.readFile = file => files.get(file) ?? readFile(file)
  const program = ts.createProgram([...files.keys()], config?.options ?? {}, host)
  const problems = [...files.keys()].flatMap(file =>
    ts.getPreEmitDiagnostics(program, program.getSourceFile(file)),
  )
  const shown = problems.map(({ file, start = 0, messageText }) => {
    const line = (file?.getLineAndCharacterOfPosition(start).line ?? 0) + 1
    return `${file?.fileName.slice(root.length)}:${line} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
  })
  expect(shown).toEqual([])
})

const given = `
  declare global {
    const service: import('virtual-accounts/testing').FakeService
    const client: import('virtual-accounts').Client
    const account: import('virtual-accounts').VirtualAccountRef
  }
  export {}
`
