import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { environment, fromSource, root } from '../program.ts'
import type { FaultServer } from './fault-server.ts'
import { apiKey } from './stub.ts'

interface ProgramOptions {
  /** Further flags of Node. */
  readonly flags?: readonly string[]
  readonly env?: Readonly<Record<string, string | undefined>>
}

/**
 * Runs a program that has `Client`, `account` and a `client` of the server in a process of its own. Rejects unless it exits
 * by itself, long before any timeout of the client's.
 */
export function runProgram(
  { url }: Pick<FaultServer, 'url'>,
  program: string,
  { flags = [], env = {} }: ProgramOptions = {},
): Promise<{ stdout: string; stderr: string }> {
  const source = `
    import { Client } from 'virtual-accounts'
    const client = new Client({ baseUrl: ${JSON.stringify(url)}, apiKey: ${JSON.stringify(apiKey)} })
    const account = { customerId: 'c1', virtualAccountId: 'v1' }
    ${program}`
  return promisify(execFile)(
    process.execPath,
    [...flags, ...fromSource, '--input-type=module', '-e', source],
    { cwd: root, timeout: 80_000, env: environment(env) },
  )
}
