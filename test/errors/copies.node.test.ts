import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

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

describe('isApiError', () => {
  test('of the ESM copy recognises an error of the CJS copy, which is not an instance of its class', async () => {
    const error = await errorOf(cjs)
    expect(error).not.toBeInstanceOf(esm.ApiError)
    expect(esm.isApiError(error) && error.kind).toBe('http')
  })

  test('of the CJS copy recognises an error of the ESM copy, which is not an instance of its class', async () => {
    const error = await errorOf(esm)
    expect(error).not.toBeInstanceOf(cjs.ApiError)
    expect(cjs.isApiError(error) && error.kind).toBe('http')
  })
})
