// Names the required version in one line if Node is too old. Otherwise, programs fail with unrelated errors.
import module from 'node:module'

if (module.registerHooks === undefined) {
  console.error(
    `Node 22.15 or later is needed. This is ${process.version}. \`npm ci\` installs one for npm scripts. If install scripts are off, use npm 11.7 or later.`,
  )
  process.exit(1)
}
