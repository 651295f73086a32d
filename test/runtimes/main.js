// Runs the cases where there are processes, and prints what came of them as the last line.

import { runCases } from './cases.js'

// No await at the top: this becomes a CommonJS module, too.
void runCases(JSON.parse(globalThis.process.argv[2])).then(results => console.log(JSON.stringify(results)))
