import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { FakeServiceOptions } from 'virtual-accounts/testing'
import { expect, onTestFinished } from 'vitest'
import { startFakeServer } from '../../examples/fake-server.js'
import { environment, fromSource, root } from '../program.ts'

// The programs of examples/, each run as a user does: a process of its own, in a folder of its own, started as
// `npm run example` starts it.

export const ofFake = { BASE_URL: '', API_KEY: '', ALLOW_WRITES: '' }

/** A folder of its own for a test. */
export function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'virtual-accounts-examples-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

interface RunOptions {
  readonly env?: Record<string, string>
  readonly args?: readonly string[]
  /** Flags of Node. */
  readonly flags?: readonly string[]
  readonly folder?: string
  /** Ctrl-C as soon as stderr matches. */
  readonly interruptAt?: RegExp
}

/** Runs an example to its end. */
export function run(
  example: string,
  { env = {}, args = [], flags = [], folder = tmpdir(), interruptAt }: RunOptions = {},
): Promise<Ended> {
  const options = { cwd: folder, env: environment({ NO_COLOR: '1', ...env }) }
  const command = [...fromSource, ...flags, resolve(root, 'examples', example), ...args]
  return new Promise(end => {
    const child = execFile(process.execPath, command, options, (error, stdout, stderr) => {
      end({ code: Number(error?.code ?? 0), stdout, stderr })
    })
    child.stderr?.on('data', text => interruptAt?.test(text) && child.kill('SIGINT'))
  })
}

/** Starts an example, and resolves when it has printed a line that matches. */
export async function startUntil(
  line: RegExp,
  example: string,
  env: Record<string, string>,
  folder: string = tmpdir(),
  stream: 'stdout' | 'stderr' = 'stdout',
): Promise<{ child: ChildProcess; match: RegExpExecArray }> {
  const child = spawn(process.execPath, [...fromSource, join(root, 'examples', example)], {
    cwd: folder,
    env: environment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => kill(child))
  for await (const text of createInterface({ input: child[stream] })) {
    const match = line.exec(text)
    if (match) return { child, match }
  }
  throw new Error(`${example} ended without a line like ${line}`)
}

/** As a power cut does: the program cannot tidy up. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

/** Starts a server of a fake service for a test. */
export async function serveFake(options: Omit<FakeServiceOptions, 'baseUrl'>) {
  const { service, url, close } = await startFakeServer({ port: 0, ...options })
  onTestFinished(() => void close())
  return { service, env: { BASE_URL: url, API_KEY: service.apiKey } }
}

/** A terminal of 80 columns shows it as it is meant. */
export function expectToFit(text: string): void {
  expect(text.split('\n').filter(line => line.length > 80)).toEqual([])
}
