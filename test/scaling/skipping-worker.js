// Preloaded into every process of bulk-deactivate: its worker skips one account. SKIPPING says what it then returns.
import { registerHooks } from 'node:module'

const results = { silently: 'undefined', 'with a lie': '{ status: 200, idempotencyKey: job.id }' }
const start = 'work(async job => {'

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    if (!url.endsWith('/bulk-deactivate/worker.js')) return loaded
    const source = String(loaded.source)
    if (!source.includes(start)) throw new Error(`worker.js no longer has ${start}`)
    const skip = `if (job.data.account.virtualAccountId === 'v7') return ${results[process.env.SKIPPING]}`
    return { ...loaded, source: source.replace(start, `${start}\n  ${skip}`) }
  },
})
