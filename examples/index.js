// @ts-check
// `npm run example FILE` runs a program. Without a FILE, or if there is no such FILE, it lists the programs.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const [given] = process.argv.slice(2)
const program = given && pathOf(given)

// A folder stands for its index.js, except this folder.
if (program && program !== import.meta.filename) {
  // The program finds its own arguments.
  process.argv.splice(1, 2, program)
  await import(pathToFileURL(program).href)
} else if (given === undefined || given === '--help' || given === '-h') {
  console.log(`Run a program with npm run example FILE. Add -- --help for an explanation.\n\n${programs()}`)
} else {
  console.error(`There is no program ${given}. The programs are:\n\n${programs()}`)
  process.exitCode = 1
}

/** @param {string} file */
function pathOf(file) {
  const { resolve: find } = createRequire(import.meta.url)
  // From the current folder, or by the name alone.
  for (const path of [resolve(file), resolve(import.meta.dirname, file)]) {
    try {
      return find(path)
    } catch {
      // Not there.
    }
  }
  return undefined
}

/** The programs that README.md names, with its descriptions. */
function programs() {
  const readme = readFileSync(new URL('README.md', import.meta.url), 'utf8')
  const rows = readme.replaceAll(/\[(.*?)\]\(.*?\)/g, '$1').matchAll(/^\| `(examples\/\S+)` \| (.*) \|$/gm)
  return Array.from(rows, ([, file = '', text]) => `  ${file.padEnd(31)} ${text}`).join('\n')
}
