import { join } from 'node:path'
import ts from 'typescript'
import { FakeService, inferSchema } from 'virtual-accounts/testing'
import { expect, test } from 'vitest'

const items = [
  { id: 'a', amount: 1, lines: [{ sku: 'x', 'unit price': 2 }], meta: { a: null }, paid: true, '1st': 1 },
  { id: 'b', amount: 'text', lines: [], meta: null, "it's": '"', 'new\nline': {} },
]

const use = `
for await (const item of list) {
  const typed: RefundsItem = item
  const id: string = typed.id
  const amount: string | number = typed.amount
  const skus: string[] = typed.lines.map(line => line.sku)
  const paid: boolean | undefined = typed.paid
  // @ts-expect-error
  const wrong: boolean = typed.id
  console.log(id, amount, skus, paid, wrong)
}
`

test('a printed schema and its example compile, and the items have its types', {
  timeout: 120_000,
}, async () => {
  const service = new FakeService()
  service.serveList('/refunds', items)
  const { baseUrl, apiKey, fetch } = service
  const code = await inferSchema({ baseUrl, apiKey, fetch, path: '/refunds' })
  const [schema, example = ''] = code.split(/^\/\/ To read it, .*\n.*\n/m)
  const files = new Map([
    [join(import.meta.dirname, 'refunds.ts'), schema + example.replaceAll(/^\/\/ ?/gm, '') + use],
  ])
  const { config } = ts.readConfigFile(join(import.meta.dirname, '../tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, join(import.meta.dirname, '..'))
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile } = host
  host.fileExists = path => files.has(path) || fileExists(path)
  host.readFile = path => files.get(path) ?? readFile(path)
  const program = ts.createProgram([...files.keys()], options, host)
  const problems = [...files.keys()].flatMap(file =>
    ts.getPreEmitDiagnostics(program, program.getSourceFile(file)),
  )
  expect(problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([])
})
