import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { folder, serve } from './guide.ts'
import { root, snippet } from './snippets.ts'

test('the program of exports.md, killed and started again, writes every transaction once', async () => {
  const { service, env, close } = await serve(1000)
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'export.js'), snippet('exports.md', 'Exports'))
  const ids = service.transactions.map(({ id }) => id)
  const start = () => {
    const args = ['--import', join(root, 'tools/from-source.js'), 'export.js']
    return spawn(process.execPath, args, { cwd: folder, env: { ...process.env, ...env }, stdio: 'inherit' })
  }
  for (const requests of [3, 6]) {
    const killed = start()
    await vi.waitFor(() => expect(service.requests.length).toBeGreaterThan(requests), { timeout: 20_000 })
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    service.transactions.shift()
  }
  const [code] = await once(start(), 'exit')
  close()
  expect(code).toBe(0)
  const lines = readFileSync(join(folder, 'transactions.jsonl'), 'utf8').trimEnd().split('\n')
  const written = lines.map(line => JSON.parse(line).id)
  expect(written).toEqual(expect.arrayContaining(ids.slice(2)))
  expect(new Set(written).size).toBe(written.length)
})
