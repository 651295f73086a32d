// Runs the cases in a runtime with processes, and prints the results as the last line.

import { runCases } from './cases.js'

// No await at the top: this becomes a CommonJS module, too.
void runCases(JSON.parse(globalThis.process.argv[2])).then(results => console.log(JSON.stringify(results)))
