import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { FakeService, type ProbeReport, sampleTransactions } from 'virtual-accounts/testing'
import { describe, expect, test } from 'vitest'
import { environment, fromSource, root } from '../program.ts'
import { account, checkInParallel } from '../support.ts'
import { changeHeaders, changeItems, changePages, type Deviation, type FakeFetch } from './service.ts'

const apiKey = 'key_of_the_command'
const cli = [...fromSource, join(root, 'src/cli.ts')]
const writing = ['--customer-id', 'c1', '--virtual-account-id', 'v1', '--write']

/** An HTTP server in front of a fake service that deviates. */
async function serve(...deviations: Deviation[]) {
  let fetch: FakeFetch
  const server = createServer(async (message, reply) => {
    const { method = 'GET', url = '/', headers } = message
    const body = method === 'GET' ? null : Buffer.concat(await message.toArray())
    const sent = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
    const response = await fetch(service.baseUrl + url, { method, headers: sent, body })
    reply.writeHead(response.status, Object.fromEntries(response.headers))
    reply.end(Buffer.from(await response.arrayBuffer()))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const service = new FakeService({ baseUrl, apiKey, transactions: sampleTransactions(250) })
  fetch = deviations.reduce((fetch, deviate) => deviate(fetch), service.fetch)
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: baseUrl, service, [Symbol.dispose]: close }
}

function run(
  args: string[],
  env: NodeJS.ProcessEnv = { API_KEY: apiKey },
  onStart: (child: ChildProcess) => void = () => {},
  before = '',
) {
  return new Promise<{ status: number; stdout: string; stderr: string }>(resolve => {
    const unset = { API_KEY: undefined, FORCE_COLOR: undefined, NO_COLOR: undefined }
    const options = { cwd: root, env: environment({ ...unset, ...env }) }
    const command = ['--import', `data:text/javascript,${before}`, ...cli, ...args]
    const child = execFile(process.execPath, command, options, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr })
    })
    onStart(child)
  })
}

const old = changeHeaders(headers => headers.set('Age', '60'))

describe.concurrent('the command probe', () => {
  test('prints what is broken first and last, and exits with 1', async () => {
    using served = await serve(
      old,
      changeItems(item => ({ ...item, amount: String(item.amount) })),
    )
    const { url } = served
    const { status, stdout, stderr } = await run(['probe', url])
    const lines = stdout.trimEnd().split('\n')
    expect(lines[0]).toMatch(
      /^Probe of http:\/\/127\.0\.0\.1:\d+ by virtual-accounts, [\d-]{10} \d\d:\d\d UTC$/,
    )
    expect(lines[2]).toMatch(/^broken +Items /)
    expect(lines.at(-1)).toMatch(/^2 broken: Items, Caches\. /)
    expect(stderr).toBe('At most 18 requests, one at a time; read-only.\n')
    expect(status).toBe(1)
  })

  test('colours nothing but what is broken, and only where a terminal is told to', () =>
    checkInParallel<[env: NodeJS.ProcessEnv, red: string[]]>(
      [
        [{}, []],
        [{ FORCE_COLOR: '1' }, ['broken', '1 broken']],
        [{ FORCE_COLOR: '1', NO_COLOR: '1' }, []],
      ],
      async ([env, red]) => {
        using served = await serve(old)
        const { url } = served
        const { stdout } = await run(['probe', url], { API_KEY: apiKey, ...env })
        const [, ...colored] = stdout.split('\x1b[31m')
        expect(colored.map(text => text.split('\x1b[39m')[0])).toEqual(red)
        expect(stdout.split('\x1b')).toHaveLength(1 + 2 * red.length)
      },
    ))

  test('prints JSON, and exits with 0 when nothing is broken', async () => {
    using served = await serve()
    const { url, service } = served
    const { status, stdout, stderr } = await run(['probe', url, ...writing, '--json'])
    const { findings, requests } = JSON.parse(stdout) as ProbeReport
    expect(findings.filter(({ status }) => status === 'broken')).toEqual([])
    expect(findings.find(({ id }) => id === 'deactivate')?.status).toBe('ok')
    expect(service.requests).toHaveLength(requests)
    expect(service.isActive(account)).toBe(true)
    expect(stderr).toContain('deactivates and reactivates the test account')
    expect(status).toBe(0)
  })

  test('says that nobody has read about the account, if its output is a pipe that was closed', () =>
    checkInParallel<[args: string[], stderr: RegExp]>(
      [
        [[], /^At most 18 requests, .*\n$/],
        [
          writing,
          /The output could not be written: .*EPIPE.*\. The test account may be inactive: check it\n$/,
        ],
      ],
      async ([args, expected]) => {
        using served = await serve()
        const { stderr } = await run(['probe', served.url, ...args], undefined, child =>
          child.stdout?.destroy(),
        )
        expect(stderr).toMatch(expected)
      },
    ))

  test('reactivates the account when it is interrupted or ended', () =>
    checkInParallel(
      Object.entries({ SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }),
      async ([signal, expected]) => {
        let child: ChildProcess | undefined
        using served = await serve(fetch => async (input, init) => {
          // The service applies it later than the signal arrives.
          if (String(input).endsWith('/deactivate')) {
            const isTold = once(child?.stderr as NodeJS.EventEmitter, 'data')
            child?.kill(signal as NodeJS.Signals)
            await isTold
            // npx may pass on what the terminal has sent already.
            child?.kill(signal as NodeJS.Signals)
          }
          return fetch(input, init)
        })
        const { url, service } = served
        const { status, stderr } = await run(['probe', url, ...writing], undefined, started => {
          child = started
        })
        const writes = service.requests.filter(({ method }) => method === 'POST').map(({ path }) => path)
        expect(writes.map(path => path.split('/').at(-1))).toEqual(['deactivate', 'reactivate'])
        expect(service.isActive(account)).toBe(true)
        expect(stderr).toMatch(/Interrupted\.[\s\S]*the service has confirmed the reactivation\.\n$/)
        expect(status).toBe(expected)
      },
    ))

  test('replaces the line of its progress when it is interrupted', async () => {
    let child: ChildProcess | undefined
    using served = await serve(fetch => (input, init) => {
      child?.kill('SIGINT')
      return fetch(input, init)
    })
    const { status, stdout, stderr } = await run(
      ['probe', served.url],
      undefined,
      started => {
        child = started
      },
      'process.stderr.isTTY = true',
    )
    expect(stderr.split('GET /transactions?page=1').at(-1)).toBe('\r\x1b[KInterrupted.\n')
    expect(stdout).toBe('')
    expect(status).toBe(130)
  })

  test('writes nothing without --write, even if an account is named', async () => {
    using served = await serve()
    const { url, service } = served
    const { stderr } = await run(['probe', url, ...writing.slice(0, -1)])
    expect(new Set(service.requests.map(({ method }) => method))).toEqual(new Set(['GET']))
    expect(stderr).toContain('Read-only: add --write')
  })

  test('ends quietly when the reader of its output has gone', async () => {
    using served = await serve()
    const { url } = served
    const env = environment({ API_KEY: apiKey })
    const child = spawn(process.execPath, [...cli, 'probe', url], { cwd: root, env })
    child.stdout.destroy()
    const errors = child.stderr.toArray()
    const [status] = await once(child, 'close')
    expect(Buffer.concat(await errors).toString()).toBe('At most 18 requests, one at a time; read-only.\n')
    expect(status).toBe(0)
  })
})

describe.concurrent('the command schema', () => {
  test('prints the schema of a list on stdout, and nothing else', async () => {
    using served = await serve(changePages(page => page))
    const { url, service } = served
    service.serveList('/refunds', [{ id: 'r1', reason: null }, { id: 'r2' }])
    const { status, stdout, stderr } = await run(['schema', url, '/refunds'])
    expect(stdout).toMatch(
      /^\/\/ From 2 items [\s\S]*\n\/\/ for await \(const item of list\) console\.log\(item\)\n$/,
    )
    expect(stderr).toBe(
      'At most 9 requests, one at a time; read-only.\nDone: the last lines say how to use it.\n',
    )
    expect(status).toBe(0)
  })

  test('says in one line why there is none, and exits with 2', async () => {
    using served = await serve()
    const { url } = served
    const { status, stdout, stderr } = await run(['schema', url, '/nothing'])
    expect(stderr).toMatch(/\nGET \/nothing: HTTP 404.*\n$/)
    expect(stdout).toBe('')
    expect(status).toBe(2)
  })
})

test('--version is that of the package', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const { status, stdout } = await run(['--version'])
  expect(stdout).toBe(`${version}\n`)
  expect(status).toBe(0)
})

test('an older Node is told which one is needed', async () => {
  const older = "Object.defineProperty(process, 'versions', { value: { node: '20.20.2' } })"
  const { status, stdout, stderr } = await run(['probe', url], undefined, undefined, older)
  expect(stderr).toBe('virtual-accounts needs Node 22 or later: this is Node 20.20.2\n')
  expect(stdout).toBe('')
  expect(status).toBe(2)
})

test('--help explains every option', async () => {
  const { status, stdout } = await run(['probe', '--help'])
  for (const name of ['allow-insecure-http', 'version', 'origin', 'customer-id', 'write', 'json']) {
    expect(stdout).toContain(`--${name}`)
  }
  expect(status).toBe(0)
})

const url = 'https://a.test'

test('a wrong command line is explained in words', () =>
  checkInParallel<[args: string[], message: string, env?: NodeJS.ProcessEnv]>(
    [
      [[], 'Usage: npx virtual-accounts probe <baseUrl>'],
      [['prob', url], 'Unknown command "prob". There are: probe, schema (--help explains them)'],
      [['probe'], 'probe: missing <baseUrl>, as in\n  npx virtual-accounts probe https://'],
      [['schema'], 'schema: missing <baseUrl> and <path>, as in\n  npx virtual-accounts schema'],
      [['schema', url], 'schema: missing <path>, as in\n  npx virtual-accounts schema https://'],
      [['probe', url, 'secret'], 'probe: expected only <baseUrl>, as in\n'],
      [['probe', '/api'], 'probe: expected only <baseUrl>, as in\n  npx virtual-accounts probe https://'],
      [['schema', '/refunds', url], 'schema: expected only <baseUrl> and <path>, as in\n'],
      [['schema', url, 'C:/Program Files/Git/refunds'], 'path: Git Bash has changed it. Put MSYS_NO_PATH'],
      [
        ['probe', url, '--orgin=x'],
        'Unknown option --orgin of probe. There are: --allow-insecure-http, --help, --version, --origin',
      ],
      [['probe', url, '--api-key=secret'], "--api-key: arguments stay in the shell's history."],
      [['--api-key', 'sk_live_1', 'probe', url], "--api-key: arguments stay in the shell's history."],
      [['--sk_live_token', 'probe', url], "API key: arguments stay in the shell's history."],
      [['sk_live_1'], 'Unknown command. There are: probe, schema'],
      [['abcdefgh'], 'Unknown command "[api key]". There are: probe, schema', { API_KEY: 'abcdefgh' }],
      [['probe', url, '--sk_live_1'], 'Unknown option of probe. There are: --allow-insecure-http'],
      [['probe', url, '--speed=2'], 'Unknown option --speed of probe. There are: --allow-insecure-http'],
      [['schema', url, '/refunds?page=2'], 'path: expected one without ? and #'],
      [['schema', url, 'refunds'], 'path: expected one that begins with /, such as /transactions\n'],
      [['probe', url, '--origin', '--json'], '--origin: expected a value'],
      [['probe', url, '--customer-id=-c'], '--customer-id and --virtual-account-id: expected both'],
      [['probe', url, '--write=no'], '--write: takes no value'],
      [['probe', url], 'API_KEY is not set. In bash or zsh run: read -rs API_KEY && export API_KEY', {}],
      [['probe', 'http://a.test'], '(--allow-insecure-http allows it)'],
      [['probe', url, '--customer-id', 'c1'], '--customer-id and --virtual-account-id: expected both'],
      [['probe', url, '--write'], '--write needs a test account'],
    ],
    async ([args, message, env]) => {
      const { status, stdout, stderr } = await run(args, env)
      expect(stderr).toContain(message)
      expect(stderr).not.toContain('secret')
      expect(stdout).toBe('')
      expect(status).toBe(2)
    },
  ))
