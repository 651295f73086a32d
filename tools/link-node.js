// npm runs this at the end of every install. Before 11.7, npm deletes node_modules/.bin/node along with the
// packages of tools/runtime for other platforms, because each has a bin of that name. It is a hard link, because Windows may
// forbid symbolic links.
import { existsSync, linkSync, readFileSync } from 'node:fs'

const { optionalDependencies } = JSON.parse(readFileSync('tools/runtime/package.json', 'utf8'))
const program = process.platform === 'win32' ? 'node.exe' : 'node'
const link = `node_modules/.bin/${program}`
const programs = Object.keys(optionalDependencies).map(name => `node_modules/${name}/bin/${program}`)
const installed = programs.find(path => existsSync(path))
if (installed !== undefined && !existsSync(link)) linkSync(installed, link)
