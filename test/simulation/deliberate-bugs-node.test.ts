import { execFile } from 'node:child_process'
import { expect, test } from 'vitest'
import { type DeliberateBug, deliberateBugs } from './deliberate-bugs.ts'

test.each(deliberateBugs)('the simulator finds that $name', { timeout: 120_000 }, async bug => {
  const { exitCode, output } = await simulateWith(bug)
  expect(output).toContain('VIOLATION')
  expect(exitCode).toBe(1)
})

/** Walks of the family in which the bug shows, up to the first that breaks a promise. */
function simulateWith({ name, family, mode }: DeliberateBug): Promise<{ exitCode: unknown; output: string }> {
  const imports = ['--import', './tools/from-source.js', '--import', './test/simulation/with-bug.ts']
  const options = ['--walks', '4000', '--stop', '--family', family, '--mode', mode]
  const env = { ...process.env, BUG: name }
  return new Promise(resolve => {
    execFile(
      process.execPath,
      [...imports, 'test/simulation/run.ts', ...options],
      { env },
      (error, stdout, stderr) => resolve({ exitCode: error ? error.code : 0, output: stdout + stderr }),
    )
  })
}
