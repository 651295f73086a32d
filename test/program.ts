import { tmpdir } from 'node:os'
import { join } from 'node:path'

// For tests that run a program as users do: a Node process of its own, with the package from src.

export const root: string = join(import.meta.dirname, '..')

/** The flags of Node. Node 22 would warn that type stripping is experimental. */
export const fromSource: readonly string[] = [
  '--disable-warning=ExperimentalWarning',
  '--import',
  new URL('../tools/from-source.js', import.meta.url).href,
]

/** The environment of this process, and more. What Node compiles once is kept, or each start would take half a second. */
export function environment(more: Readonly<Record<string, string | undefined>> = {}): NodeJS.ProcessEnv {
  return { ...process.env, NODE_COMPILE_CACHE: join(tmpdir(), 'virtual-accounts-compile-cache'), ...more }
}
