import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { root } from '../program.ts'
import { checkInParallel } from '../support.ts'
import { createFolder, expectToFit, run, serveFake } from './programs.ts'

const programs = [
  'demo.js',
  'list-transactions.js',
  'handle-errors.js',
  'export-csv.js',
  'new-transactions.js',
  'sync-sqlite.js',
  'proxy.js',
  'queue/index.js',
]

/** The last line that a program printed. */
const lastLine = (printed: string) => printed.trimEnd().split('\n').at(-1)

test('npm run example lists the programs, and runs one with its arguments', async () => {
  const listed = await run('index.js', { folder: root })
  expect({ ...listed, stdout: '' }).toEqual({ code: 0, stdout: '', stderr: '' })
  const named = [...listed.stdout.matchAll(/^ {2}(examples\/\S+)/gm)].map(([, file = '']) => file)
  expect(named).toContain('examples/queue')
  expect(named.filter(file => !existsSync(join(root, file)))).toEqual([])
  expectToFit(listed.stdout)
  await checkInParallel(['examples/proxy.js', 'proxy', 'examples/queue'], async program => {
    const { code, stdout } = await run('index.js', { args: [program, '--help'], folder: root })
    expect(code).toBe(0)
    expect(stdout).toContain('npm run example examples/')
  })
  const wrong = await run('index.js', { args: ['proxi.js'], folder: root })
  expect(wrong).toMatchObject({ code: 1, stdout: '' })
  expect(wrong.stderr).toMatch(/^There is no program proxi\.js\./)
})

describe('every program', () => {
  test('says what it does with --help, names an argument that it does not take, and does nothing', async () => {
    const folder = createFolder()
    await checkInParallel(programs, async program => {
      const help = await run(program, { args: ['--help'], folder })
      expect({ ...help, stdout: '' }).toEqual({ code: 0, stdout: '', stderr: '' })
      expect(help.stdout).toContain('npm run ')
      expectToFit(help.stdout)
      const wrong = await run(program, { args: ['--halp'], folder })
      expect(wrong).toEqual({ code: 1, stdout: '', stderr: "Unknown option '--halp'. See --help.\n" })
    })
    expect(readdirSync(folder)).toEqual([])
  })

  test('that gets too many arguments says so', async () => {
    const wrong = await run('export-csv.js', { args: ['one', 'two'] })
    expect(wrong).toEqual({ code: 1, stdout: '', stderr: "Unexpected argument 'two'. See --help.\n" })
  })

  test('that calls a service says in one line what is wrong, without the key', () =>
    checkInParallel<[program: string, env: Record<string, string>, expected: RegExp]>(
      [
        ['list-transactions.js', { BASE_URL: 'https://api.example.com' }, /^API_KEY: .*$/],
        ['export-csv.js', { API_KEY: 'my_secret_key' }, /^BASE_URL: .*$/],
        [
          'proxy.js',
          { BASE_URL: 'http://api.example.com', API_KEY: 'my_secret_key' },
          /^BASE_URL: .*https.*$/,
        ],
        [
          'export-csv.js',
          { BASE_URL: 'http://127.0.0.1:1', API_KEY: 'my_secret_key' },
          /^GET \/transactions.*attempts\).*$/,
        ],
      ],
      async ([program, env, expected]) => {
        const { code, stdout, stderr } = await run(program, { env, folder: createFolder() })
        expect(code).toBe(1)
        // Lines before it say what the program is about to do.
        expect(lastLine(stderr)).toMatch(expected)
        expect(stdout + stderr).not.toContain('my_secret_key')
      },
    ))
})

test('the demo fits on two screens, and names what is there', async () => {
  const { code, stdout, stderr } = await run('demo.js')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expectToFit(stdout)
  expect(stdout.split('\n').length).toBeLessThanOrEqual(48)
  expect(stdout).toMatch(/page=1, 2, 3 … +✗ misses [1-9]/)
  expect(stdout).toMatch(/client\.transactions\.list\(\)\) +✓ misses none/)
  expect(stdout).toContain('✓ 2 requests, 1 idempotency key: deactivated once')
  expect(stdout).toContain('HTTP 401')
  const next = stdout.slice(stdout.lastIndexOf('Next'))
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  for (const [, script = ''] of next.matchAll(/npm run (\S+)/g)) expect(scripts).toHaveProperty(script)
  for (const [file] of next.matchAll(/(?:docs|examples)\/\S+/g))
    expect(existsSync(join(root, file)), file).toBe(true)
})

test('list-transactions adds up all transactions', async () => {
  const transactions = [0.1, 0.2].map((amount, index) => {
    return { id: `t${index}`, amount, currency: 'EUR', description: 'Coffee' }
  })
  const { env } = await serveFake({ transactions })
  const { code, stdout, stderr } = await run('list-transactions.js', { env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('2 transactions on 1 page.')
  expect(lastLine(stdout)).toMatch(/EUR +2 +0\.3$/)
})

test('handle-errors shows each kind of failure, and what to do', async () => {
  const { code, stdout, stderr } = await run('handle-errors.js')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expectToFit(stdout)
  const text = stdout.replaceAll(/\s+/g, ' ')
  for (const said of [
    '→ look at status 404 and body {"error":{"message":"no such account"}}',
    '→ retry in 90 s',
    '→ check baseUrl and the network, or retry later',
    '→ more than 100 ms: raise timeout, or retry later',
    '→ look at error.issues and error.body, and pass a schema if the service is right',
    '→ do what the message says',
    'resumed with error.cursor: 250 of 250 read',
    'retried: HTTP 200, isActive is false',
    '→ nothing, or put the work back into the queue',
  ]) {
    expect(text).toContain(said)
  }
  expect(lastLine(stdout)).toContain('TypeError: limit: expected a whole number of at least 1')
})

test('what the examples write into a clone is ignored by git', () => {
  const files = [
    'transactions.csv',
    'transactions.csv.part',
    'transactions.csv.part.json',
    'transactions.csv.part.json.new',
    'transactions.jsonl',
    'transactions.jsonl.json',
    'transactions.sqlite',
  ]
  const ignored = execFileSync('git', ['check-ignore', ...files], { cwd: root, encoding: 'utf8' })
  expect(ignored.trimEnd().split('\n')).toEqual(files)
})
