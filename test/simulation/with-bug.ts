// Puts a deliberate bug into the source as it is loaded: BUG='<name>' node --import ./test/simulation/with-bug.ts …
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { deliberateBugs } from './deliberate-bugs.ts'

const bug = deliberateBugs.find(({ name }) => name === process.env.BUG)
if (!bug) throw new Error(`BUG: expected one of ${deliberateBugs.map(({ name }) => `'${name}'`).join(', ')}`)
const url = new URL(`../../${bug.file}`, import.meta.url)
const occurrences = readFileSync(url, 'utf8').split(bug.find).length - 1
if (occurrences !== 1) throw new Error(`'${bug.find}' occurs ${occurrences} times in ${bug.file}, not once`)

registerHooks({
  load(loaded, context, nextLoad) {
    const result = nextLoad(loaded, context)
    if (loaded !== url.href) return result
    return { ...result, source: String(result.source).replace(bug.find, () => bug.replace) }
  },
})
