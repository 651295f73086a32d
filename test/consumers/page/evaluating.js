// Does what the policy forbids, to show that it is in force and that a violation is noticed.
import { violations } from './watch.js'

try {
  new Function('return 1')()
} catch {}
setTimeout(() => fetch('/results', { method: 'POST', body: JSON.stringify({ results: [], violations }) }))
