// Runs the queue example with a Redis, and expects that all adds up; it needs redis-server.
// Usage: npm run test:scaling

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')
const fromSource = ['--import', join(root, 'tools/from-source.js')]
const folder = await mkdtemp(join(tmpdir(), 'scaling-'))

/** Runs the example, with its temporary files in this folder. */
function run(env) {
  const options = { env: { ...process.env, REDIS_URL: '', TMPDIR: folder, ...env }, timeout: 600_000 }
  const args = [...fromSource, join(root, 'examples/queue/index.js')]
  return new Promise(resolve => {
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      resolve({ code: error?.code ?? error?.signal ?? 0, stdout, stderr })
    })
  })
}

try {
  const { code, stdout, stderr } = await run({})
  assert.equal(code, 0, stderr)
  const lines = stdout.trimEnd().split('\n')
  assert.match(lines[0], /^[1-9]\d* jobs? of the killed worker done by others, [1-9]\d* requests repeated$/)
  assert.equal(lines[1], '10,000 accounts deactivated, each once and with one key')
  assert.deepEqual(readdirSync(folder), [], 'Redis left something behind')
  console.log(stdout.trimEnd())

  const unreachable = await run({ REDIS_URL: 'redis://127.0.0.1:1' })
  assert.equal(unreachable.code, 1)
  assert.match(unreachable.stderr, /^Redis: connect ECONNREFUSED .*\n$/)
} finally {
  await rm(folder, { recursive: true, force: true })
}
