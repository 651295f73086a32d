// Says in one line what is needed, where a Node is too old. Otherwise programs fail with errors that do not say it.
import module from 'node:module'

if (module.registerHooks === undefined) {
  console.error(
    `Node 22.15 or later is needed; this is ${process.version}. \`npm ci\` brings one for npm scripts; if it ignores scripts, use npm 11.7 or later.`,
  )
  process.exit(1)
}
