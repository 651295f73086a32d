import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'

type Package = typeof import('virtual-accounts')

// A process may load the package twice: by `import` and, through another dependency, by `require`.
const folder = mkdtempSync(join(tmpdir(), 'virtual-accounts-copies-'))
let esm: Package
let cjs: Package

beforeAll(async () => {
  const entryPoints = [fileURLToPath(new URL('../../src/index.ts', import.meta.url))]
  const bundle = async (format: 'esm' | 'cjs', outfile: string) =>
    build({ entryPoints, bundle: true, format, outfile, logLevel: 'error' })
  await bundle('esm', join(folder, 'index.mjs'))
  await bundle('cjs', join(folder, 'index.cjs'))
  esm = await import(/* @vite-ignore */ pathToFileURL(join(folder, 'index.mjs')).href)
  cjs = createRequire(import.meta.url)(join(folder, 'index.cjs'))
})
afterAll(() => rmSync(folder, { recursive: true }))

async function errorOf({ Client }: Package): Promise<unknown> {
  const fetch = async () => new Response(null, { status: 404 })
  const client = new Client({ baseUrl: 'https://api.example.com', apiKey: 'key', fetch })
  return client.transactions.list().catch((error: unknown) => error)
}

test('each copy recognises the errors of the other, by isApiError and by instanceof', async () => {
  const copies = [
    [esm, await errorOf(cjs)],
    [cjs, await errorOf(esm)],
  ] as const
  for (const [{ isApiError, ApiError, HttpError, TimeoutError }, error] of copies) {
    expect(isApiError(error) && error.kind).toBe('http')
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toBeInstanceOf(HttpError)
    expect(error).not.toBeInstanceOf(TimeoutError)
    expect(new Error('no')).not.toBeInstanceOf(ApiError)
    class Mine extends (HttpError as unknown as new () => Error) {}
    expect(error).not.toBeInstanceOf(Mine)
  }
})
