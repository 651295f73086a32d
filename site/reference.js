// The index of the reference, by task. It replaces TypeDoc's, which is by kind of declaration. `tasks` is also the sidebar.
import { readFileSync, writeFileSync } from 'node:fs'

const named = {
  'Create a client': ['Client', 'ClientOptions', 'RequestOptions', 'Fetch', 'FetchInit', 'FetchResponse'],
  'Read lists': [
    'List',
    'ListParams',
    'ListOptions',
    'Page',
    'Batch',
    'Transactions',
    'Transaction',
    'Query',
  ],
  Write: ['VirtualAccounts', 'VirtualAccountRef', 'WriteOptions', 'Result'],
  'Call other endpoints': ['CustomRequestOptions', 'HttpMethod', 'Schema'],
  'Handle errors': [
    'isApiError',
    'ApiError',
    'AnyApiError',
    'HttpError',
    'ConnectionError',
    'TimeoutError',
    'AbortError',
    'InvalidResponseError',
    'PaginationError',
    'PaginationReason',
    'Issue',
  ],
  'Log and measure': [
    'ClientEvent',
    'RequestEvent',
    'ResponseEvent',
    'RetryEvent',
    'WaitEvent',
    'SuccessEvent',
    'FailureEvent',
    'DriftEvent',
    'EndEvent',
    'IncompleteReason',
  ],
  Test: ['FakeService', 'FakeServiceOptions', 'Fault', 'RateLimit', 'ReceivedRequest', 'sampleTransactions'],
  'Probe a service': ['probe', 'ProbeOptions', 'ProbeReport', 'Finding', 'inferSchema', 'InferSchemaOptions'],
}

const folder = new URL('api/virtual-accounts/', import.meta.url)
/** The page and first sentence of each name. */
const pages = new Map(['', 'testing/', 'probe/'].flatMap(pagesOf))
const names = Object.values(named).flat()
const problems = [
  ...pages.keys().filter(name => !names.includes(name)),
  ...names.filter(name => !pages.has(name)),
]
if (problems.length > 0) throw new Error(`site/reference.js: no task has, or the package lacks, ${problems}`)

function pagesOf(path) {
  const index = readFileSync(new URL(`${path}index.md`, folder), 'utf8')
  return Array.from(index.matchAll(/^\| \[(\w+)\]\((\S+)\.md\) \| (.*) \|$/gm), ([, name, file, text]) => {
    const [sentence] = /^.*?[.:](?= |$)/.exec(text) ?? [text]
    const plain = sentence.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '`$1`').replace(/:$/, '.')
    return [name, { link: `/api/virtual-accounts/${path}${file}`, text: plain }]
  })
}

export const tasks = Object.entries(named).map(([text, names]) => {
  return { text, items: names.map(name => ({ text: name, link: pages.get(name).link })) }
})

const section = ([task, names]) =>
  `## ${task}\n\n| name | what it is |\n|---|---|\n${names
    .map(name => `| [${name}](${pages.get(name).link}.md) | ${pages.get(name).text} |`)
    .join('\n')}\n`
writeFileSync(
  new URL('../index.md', folder),
  `# Reference

All public names, by task. Each page shows how to import its name. The [guides](/docs/getting-started.md#all-guides)
show how to use it.

${Object.entries(named).map(section).join('\n')}`,
)
