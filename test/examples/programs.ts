import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { FakeServiceOptions } from 'virtual-accounts/testing'
import { expect, onTestFinished } from 'vitest'
import { startFakeServer } from '../fake-server.js'
import { environment, fromSource, root } from '../program.ts'

// The programs of examples/, each run as a user does: a process of its own, in a folder of its own, started as
// `npm run example` starts it.

/** A folder of its own for a test. */
export function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'virtual-accounts-examples-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export interface Ended {
  readonly code: number | NodeJS.Signals
  readonly stdout: string
  readonly stderr: string
}

interface RunOptions {
  /** BASE_URL and API_KEY are not set unless given. */
  readonly env?: Record<string, string>
  readonly args?: readonly string[]
  readonly flags?: readonly string[]
  readonly folder?: string
  /** Ctrl-C as soon as stderr matches. */
  readonly interruptAt?: RegExp
  /** Sends SIGKILL when it aborts. */
  readonly killer?: AbortSignal
}

/** Runs an example to its end. */
export function run(example: string, options: RunOptions = {}): Promise<Ended> {
  const { env, args = [], flags = [], folder = tmpdir(), interruptAt, killer } = options
  const command = [...fromSource, ...flags, resolve(root, 'examples', example), ...args]
  return new Promise(end => {
    const child = execFile(
      process.execPath,
      command,
      { cwd: folder, env: environment({ BASE_URL: '', API_KEY: '', NO_COLOR: '1', ...env }) },
      (error, stdout, stderr) => end({ code: error?.signal ?? Number(error?.code ?? 0), stdout, stderr }),
    )
    child.stderr?.on('data', text => interruptAt?.test(text) && child.kill('SIGINT'))
    killer?.addEventListener('abort', () => child.kill('SIGKILL'))
  })
}

/** Starts an example that ends with the test, and returns what its first matching line has. */
export async function startUntil(
  line: RegExp,
  example: string,
  env: Record<string, string>,
): Promise<RegExpExecArray> {
  const child = spawn(process.execPath, [...fromSource, join(root, 'examples', example)], {
    env: environment(env),
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  for await (const text of createInterface({ input: child.stdout })) {
    const match = line.exec(text)
    if (match) return match
  }
  throw new Error(`${example} ended without a line like ${line}`)
}

/** Starts a server of a fake service for a test. */
export async function serveFake(options: Omit<FakeServiceOptions, 'baseUrl'> = {}) {
  const { service, url, close } = await startFakeServer(options)
  onTestFinished(() => void close())
  return { service, env: { BASE_URL: url, API_KEY: service.apiKey } }
}

/** A terminal of 80 columns shows it as it is meant. */
export function expectToFit(text: string): void {
  expect(text.split('\n').filter(line => line.length > 80)).toEqual([])
}
