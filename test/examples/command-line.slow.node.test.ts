import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { root } from '../program.ts'
import { checkInParallel } from '../support.ts'
import { createFolder, expectToFit, run, serveFake } from './programs.ts'

const examples = [
  'demo.js',
  'list-transactions.js',
  'handle-errors.js',
  'export-csv.js',
  'resume-after-crash.js',
  'fake-server.js',
  'proxy.js',
  'scaling/estimate.js',
  'scaling/measure.js',
]

describe('npm run example', () => {
  test('runs a program with its arguments', async () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    expect(scripts.example).toBe('node --import ./tools/from-source.js examples/index.js')
    await checkInParallel(['proxy.js', 'bulk-deactivate'], async example => {
      const args = [`examples/${example}`, '--help']
      const { code, stdout } = await run('index.js', { args, folder: root })
      expect(code).toBe(0)
      expect(stdout).toContain(`npm run example examples/${example}`)
    })
  })

  test('finds a program by its name alone, too', async () => {
    const { code, stdout } = await run('index.js', { args: ['list-transactions', '--help'], folder: root })
    expect(code).toBe(0)
    expect(stdout).toContain('npm run example examples/list-transactions.js')
  })

  test('lists the programs where there is no such file, or none is named', () =>
    checkInParallel(
      [
        { args: [], code: 0, stream: 'stdout' as const, start: 'npm run example FILE runs a program' },
        {
          args: ['--help'],
          code: 0,
          stream: 'stdout' as const,
          start: 'npm run example FILE runs a program',
        },
        { args: ['proxi.js'], code: 1, stream: 'stderr' as const, start: 'There is no program proxi.js.' },
        { args: ['examples'], code: 1, stream: 'stderr' as const, start: 'There is no program examples.' },
      ],
      async ({ args, code, stream, start }) => {
        const ended = await run('index.js', { args, folder: root })
        expect(ended.code).toBe(code)
        expect(ended[stream].startsWith(start)).toBe(true)
        const named = [...ended[stream].matchAll(/^ {2}(examples\/\S+)/gm)].map(([, file = '']) => file)
        expect(named).toContain('examples/scaling/estimate.js')
        expect(named.filter(file => !existsSync(join(root, file)))).toEqual([])
        expectToFit(ended[stream])
      },
    ))
})

describe('every example', () => {
  test('prints what it does, and does nothing, with --help', async () => {
    const folder = createFolder()
    await checkInParallel(examples, async example => {
      const { code, stdout, stderr } = await run(example, { env: { PORT: '0' }, args: ['--help'], folder })
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toContain(`npm run ${example === 'demo.js' ? 'demo' : `example examples/${example}`}`)
      expectToFit(stdout)
    })
    expect((await run('demo.js', { args: ['-h'], folder })).stdout).toContain('npm run demo')
    expect(readdirSync(folder)).toEqual([])
  })

  test('names an argument that it does not take, and does nothing', async () => {
    const folder = createFolder()
    await checkInParallel(examples, async (example: string) => {
      const args = example === 'demo.js' ? ['one', 'two'] : ['--halp']
      const { code, stdout, stderr } = await run(example, { env: { PORT: '0' }, args, folder })
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(
        /^Un(known option '--halp'\. Options are:[\s\S]*\s--help|expected argument '(one|two)'.* See --help)\.\n$/,
      )
    })
    expect(readdirSync(folder)).toEqual([])
  })

  test('that calls a service says in one line what is wrong', () =>
    checkInParallel<[what: string, example: string, env: Record<string, string>, expected: RegExp]>(
      [
        [
          'BASE_URL without API_KEY',
          'demo.js',
          { BASE_URL: 'https://api.example.com', API_KEY: '' },
          /^BASE_URL is set, but API_KEY is not/,
        ],
        [
          'API_KEY without BASE_URL',
          'export-csv.js',
          { BASE_URL: '', API_KEY: 'k' },
          /^API_KEY is set, but BASE_URL is not/,
        ],
        [
          'a malformed URL',
          'resume-after-crash.js',
          { BASE_URL: 'nonsense', API_KEY: 'k' },
          /^BASE_URL: expected an absolute URL/,
        ],
        [
          'a URL without TLS',
          'list-transactions.js',
          { BASE_URL: 'http://api.example.com', API_KEY: 'k' },
          /^BASE_URL: .*https/,
        ],
        [
          'a service that is down',
          'list-transactions.js',
          { BASE_URL: 'http://127.0.0.1:1', API_KEY: 'k' },
          /^GET \/transactions.*: .*attempts\)/,
        ],
      ],
      async ([, example, env, expected]) => {
        const { code, stderr } = await run(example, { env })
        expect(code).toBe(1)
        const lines = stderr.trimEnd().split('\n')
        expect(lines.filter(line => expected.test(line))).toHaveLength(1)
        expect(lines.filter(line => /^ {4}at |^node:/.test(line))).toEqual([])
      },
    ))

  test('that calls a service does not print a key that is wrong', async () => {
    const { env } = await serveFake({})
    const calling = ['demo.js', 'list-transactions.js', 'export-csv.js', 'resume-after-crash.js']
    await checkInParallel(calling, async example => {
      const folder = createFolder()
      const { code, stdout, stderr } = await run(example, { env: { ...env, API_KEY: 'wrong_key' }, folder })
      expect(code).toBe(1)
      expect(stderr).toMatch(/^GET \/transactions.*: .*401.*\n/m)
      expect(stdout + stderr).not.toContain('wrong_key')
    })
  })

  test('that needs BullMQ has help, and says in one line how to install it', async () => {
    const folder = createFolder()
    const copy = join(folder, 'examples')
    const filter = (path: string) => !path.includes('node_modules') && !path.includes('react-table')
    cpSync(join(root, 'examples'), copy, { recursive: true, filter })
    await checkInParallel(['bulk-deactivate', 'export-parallel'], async example => {
      const runCopy = (...args: string[]) =>
        run(join(copy, example, 'index.js'), { env: { BASE_URL: '', API_KEY: '' }, args, folder })
      const [plain, help, wrong] = await Promise.all([runCopy(), runCopy('--help'), runCopy('--worker', '3')])
      expect(plain).toMatchObject({ code: 1, stdout: '' })
      expect(plain.stderr).toMatch(/^BullMQ is not installed: \(cd examples\/scaling\/bullmq && npm ci\)\n$/)
      expectToFit(plain.stderr)
      expect(help).toMatchObject({ code: 0, stderr: '' })
      expect(help.stdout).toContain(`npm run example examples/${example} -- [options]`)
      expectToFit(help.stdout)
      expect(wrong.code).toBe(1)
      expect(wrong.stderr).toMatch(
        /^Unknown option '--worker'\. Options are: [\s\S]*--workers,[\s\S]*\s--help\.\n$/,
      )
      expectToFit(wrong.stderr)
    })
  })
})

test('estimate prints tables that fit a terminal, with the prices that it is given', async () => {
  const args = ['--cpu-hour', '36', '--memory-hour', '0']
  const { code, stdout } = await run('scaling/estimate.js', { args })
  expect(code).toBe(0)
  expectToFit(stdout)
  // A second of a core costs 0.01.
  const [, seconds, cost] = /^ {2}100,000 +(\d+) s +\d+ MB +([\d.]+) /m.exec(stdout) ?? []
  expect(Number(cost)).toBeCloseTo(Number(seconds) / 100, 1)
})

test('what the examples write into a clone is ignored by git', () => {
  const output = 'examples/export-parallel/transactions.ndjson'
  expect(readFileSync(join(root, 'examples/export-parallel/index.js'), 'utf8')).toContain(output)
  const files = ['transactions.csv', 'transactions.csv.part', 'import/transactions.jsonl', output]
  const ignored = execFileSync('git', ['check-ignore', ...files], { cwd: root, encoding: 'utf8' })
  expect(ignored.trimEnd().split('\n')).toEqual(files)
})

test('fake-server says in one line that its port is taken', async () => {
  const { env } = await serveFake({})
  const PORT = new URL(env.BASE_URL).port
  const { code, stderr } = await run('fake-server.js', { env: { PORT } })
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `Port ${PORT} is taken: choose another, such as PORT=${Number(PORT) + 1}, or PORT=0 for any.\n`,
  })
})
