// Runs the comparison of README.md: npm run compare
import { firstSettings, runMany } from '../site/playground/simulate.js'

const runs = await runMany(firstSettings)
const lossy = side => runs.filter(results => results[side].lost > 0).length
console.log(
  `Of ${runs.length} runs, a loop over pages lost items in ${lossy(0)}, this client in ${lossy(1)}.`,
)
