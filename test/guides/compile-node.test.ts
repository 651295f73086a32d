import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { Guide } from './guide.ts'

// The blocks of the guides that test/readme.test.ts leaves to the tests of this folder, as modules beside these tests. In
// one program, as most of the time goes into the types that they import.

const here = import.meta.dirname
const files = new Map<string, string>()

function add(guide: string, blocks: Record<string, string>): void {
  const page = new Guide(`docs/${guide}.md`)
  for (const [name, text] of Object.entries(blocks)) {
    files.set(join(here, name), `${page.code(text)}\nexport {}`)
  }
}

add('observing', {
  'logs.ts': 'stdSerializers',
  'telemetry.ts': 'export function errorType',
  'metrics.ts': 'createHistogram',
  'traces.ts': 'tracer.startSpan',
})
add('rate-limits', { 'spaced.ts': 'function spaced' })
add('networks', {
  'proxy.ts': "new ProxyAgent('",
  'client-certificate.ts': 'client.pem',
  'keep-alive.ts': 'keepAliveTimeout',
  'limits.ts': 'headersTimeout',
})
add('react-query', {
  'queries.ts': 'infiniteQueryOptions',
  'transactions.tsx': 'useEffect',
  'feed.tsx': 'useInfiniteQuery(',
  'server.ts': 'dehydrate',
  'mutations.ts': 'mutationOptions',
  'button.tsx': 'useMutation',
})
files.set(
  join(here, 'given.d.ts'),
  `declare global { const account: import('virtual-accounts').VirtualAccountRef }
  export {}`,
)

test('the TypeScript of the guides compiles', { timeout: 120_000 }, () => {
  const { config } = ts.readConfigFile(join(here, '../tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, join(here, '..'))
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile } = host
  host.fileExists = file => files.has(file) || fileExists(file)
  host.readFile = file => files.get(file) ?? readFile(file)
  const program = ts.createProgram([...files.keys()], { ...options, jsx: ts.JsxEmit.ReactJSX }, host)
  const problems = [...files.keys()].flatMap(file =>
    ts.getPreEmitDiagnostics(program, program.getSourceFile(file)),
  )
  const shown = problems.map(
    ({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
  )
  expect(shown).toEqual([])
})
