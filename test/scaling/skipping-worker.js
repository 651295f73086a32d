// Preloaded into every process of a queue example: its worker skips one item. SKIPPING says how.
import { registerHooks } from 'node:module'

const skipAccount = result => ({
  file: '/bulk-deactivate/worker.js',
  code: 'work(async job => {',
  skip: code => `${code} if (job.data.account.virtualAccountId === 'v7') return ${result}\n`,
})
const { file, code, skip } = {
  'an account silently': skipAccount('undefined'),
  'an account with a lie': skipAccount('{ status: 200, idempotencyKey: job.id }'),
  'a transaction': {
    file: '/export-parallel/parts.js',
    code: 'for await (const item of items) {',
    skip: code => `${code} if (item.id === '${process.env.SKIPPED_ID}') continue\n`,
  },
}[process.env.SKIPPING]

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    if (!url.endsWith(file)) return loaded
    const source = String(loaded.source)
    if (!source.includes(code)) throw new Error(`${file} no longer has ${code}`)
    return { ...loaded, source: source.replace(code, skip) }
  },
})
