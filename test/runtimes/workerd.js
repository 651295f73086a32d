// Runs a Worker on this machine, as Cloudflare runs it, after `(cd test/runtimes && npm ci)`:
//
//   node test/runtimes/workerd.js examples/runtimes/worker.js   http://127.0.0.1:8788
//   BASE_URL=… API_KEY=… PORT=3000 node test/runtimes/workerd.js …

import { realpathSync } from 'node:fs'

/**
 * @param {string} file the Worker, whose imports are bundled as for Cloudflare
 * @param {{ bindings?: Record<string, string>, compatibilityDate?: string, port?: number, print?: (text: string) => void }} [options]
 */
export async function startWorker(
  file,
  { bindings = {}, compatibilityDate = '2026-07-30', port = 0, print } = {},
) {
  const { build } = await import('esbuild')
  const { Miniflare } = await import('miniflare')
  const bundle = { entryPoints: [file], bundle: true, write: false, format: 'esm', target: 'es2022' }
  const { outputFiles } = await build({
    ...bundle,
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*'],
  })
  const worker = new Miniflare({
    modules: true,
    script: outputFiles[0].text,
    bindings,
    compatibilityDate,
    host: '127.0.0.1',
    port,
    // Else it asks Cloudflare for details of the request.
    cf: false,
    handleStructuredLogs: ({ message }) => {
      print?.(message)
    },
  })
  return { url: String(await worker.ready), stop: () => worker.dispose() }
}

async function main([file]) {
  const { BASE_URL = '', API_KEY = '', PORT = '8788' } = process.env
  const print = text => console.log(text)
  const { url } = await startWorker(file, { bindings: { BASE_URL, API_KEY }, port: Number(PORT), print })
  console.log(`The Worker is at ${url}. Press Ctrl-C to stop it.`)
}

if (process.argv[1] && realpathSync(process.argv[1]) === import.meta.filename)
  await main(process.argv.slice(2))
