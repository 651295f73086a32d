import { join } from 'node:path'
import ts from 'typescript'
import { FakeService, inferSchema } from 'virtual-accounts/testing'
import { expect, test } from 'vitest'

const items = [
  { id: 'a', amount: 1, lines: [{ sku: 'x', 'unit price': 2 }], meta: { a: null }, paid: true, '1st': 1 },
  { id: 'b', amount: 'text', lines: [], meta: null, "it's": '"', 'new\nline': {} },
]

const use = `
import { Client } from 'virtual-accounts'
const client = new Client({ baseUrl: 'https://api.example.com', apiKey: 'key' })
for await (const item of client.list('/refunds', {}, { schema })) {
  const typed: Item = item
  const id: string = typed.id
  const amount: string | number = typed.amount
  const skus: string[] = typed.lines.map(line => line.sku)
  const paid: boolean | undefined = typed.paid
  // @ts-expect-error
  const wrong: boolean = typed.id
  console.log(id, amount, skus, paid, wrong)
}
`

test('a printed schema compiles as the schema of client.list, and types the items', {
  timeout: 120_000,
}, async () => {
  const service = new FakeService()
  service.serveList('/refunds', items)
  const { baseUrl, apiKey, fetch } = service
  const code = await inferSchema({ baseUrl, apiKey, fetch, path: '/refunds' })
  const file = join(import.meta.dirname, 'printed.ts')
  const { config } = ts.readConfigFile(join(import.meta.dirname, '../tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, join(import.meta.dirname, '..'))
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile } = host
  host.fileExists = path => path === file || fileExists(path)
  host.readFile = path => (path === file ? code + use : readFile(path))
  const program = ts.createProgram([file], options, host)
  const problems = ts.getPreEmitDiagnostics(program, program.getSourceFile(file))
  expect(problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([])
})
