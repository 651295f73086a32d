// @ts-check

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { connect, createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { Problem } from '../terminal.js'

const host = '127.0.0.1'

/**
 * The Redis of REDIS_URL, or one that is started here and keeps its data in a folder.
 *
 * @param {string} folder
 * @returns {Promise<{ url: string, close: () => Promise<void> }>}
 */
export async function startRedis(folder) {
  const { REDIS_URL } = process.env
  if (REDIS_URL) {
    await checkReachable(REDIS_URL)
    return { url: REDIS_URL, close: async () => {} }
  }
  if (!isOnPath('redis-server')) {
    throw new Problem(
      'Redis is missing: install redis-server (Debian: apt-get install redis-server, ' +
        'macOS: brew install redis), or set REDIS_URL.',
    )
  }
  const port = await freePort()
  const settings = {
    bind: host,
    port,
    dir: folder,
    // A queue is data: every job is in a file within a second, and none is dropped when memory is short.
    appendonly: 'yes',
    appendfsync: 'everysec',
    save: '',
    'maxmemory-policy': 'noeviction',
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  // It ends when its standard input does, that is, with this process, however that ends.
  const script = 'redis-server "$@" & server=$!; read -r _; kill $server; wait $server'
  const shell = spawn('sh', ['-c', script, 'sh', ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    // Ctrl-C is for this process: the workers still need Redis while they finish.
    detached: true,
  })
  await ready(shell)

  async function close() {
    const ended = once(shell, 'exit')
    shell.stdin.end()
    await ended
  }
  return { url: `redis://${host}:${port}`, close }
}

/**
 * Checked before the queue connects, because BullMQ's client reconnects forever and prints each attempt.
 *
 * @param {string} url
 */
async function checkReachable(url) {
  const { protocol, hostname, port } = URL.canParse(url)
    ? new URL(url)
    : { protocol: '', hostname: '', port: '' }
  if (!/^rediss?:$/.test(protocol) || hostname === '') {
    throw new Problem('REDIS_URL: expected a URL such as redis://127.0.0.1:6379.')
  }
  const socket = connect({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || 6379),
    timeout: 5000,
  })
  try {
    await Promise.race([
      once(socket, 'connect'),
      once(socket, 'timeout').then(() => Promise.reject(new Error('no response in 5 s'))),
    ])
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error)
    throw new Problem(
      `REDIS_URL: cannot connect to ${hostname}:${port || 6379} (${code ?? message}). ` +
        'Start it there, or unset REDIS_URL to use one of its own.',
    )
  } finally {
    socket.destroy()
  }
}

/** @param {string} program */
function isOnPath(program) {
  return (process.env.PATH ?? '').split(delimiter).some(folder => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

async function freePort() {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  server.close()
  await once(server, 'close')
  return port
}

/** @param {import('node:child_process').ChildProcessByStdio<any, import('node:stream').Readable, null>} shell */
async function ready(shell) {
  const printed = []
  for await (const line of createInterface({ input: shell.stdout })) {
    printed.push(line)
    if (line.includes('Ready to accept connections')) {
      shell.stdout.resume()
      return
    }
    if (/Failed|FATAL|can't open/i.test(line)) break
  }
  shell.stdin.end()
  throw new Problem(`redis-server did not start: ${printed.at(-1) ?? 'it printed nothing'}`)
}
