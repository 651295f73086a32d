// Who is measured: the files in peers/. Loading one costs nothing, as it imports its client only when it connects.
import { readdirSync, readFileSync } from 'node:fs'

const folder = new URL('peers/', import.meta.url)

export const baseline = 'fetch'

export function loadPeer(peer) {
  return import(new URL(`${peer}.js`, folder))
}

function json(path) {
  return JSON.parse(readFileSync(new URL(path, import.meta.url)))
}

/** One for each peer, ours once for each concurrency; the baseline last. */
export async function loadEntries() {
  const names = readdirSync(folder).map(file => file.replace('.js', ''))
  const { dependencies } = json('package.json')
  const own = json('../package.json')
  const versions = { ...dependencies, [own.name]: own.version }
  const entries = []
  for (const peer of names) {
    const { concurrencies = [undefined], packages, platform = 'browser' } = await loadPeer(peer)
    for (const concurrency of concurrencies) {
      const name = concurrency === undefined ? peer : `${peer}, ${concurrency} at once`
      const pinned = packages.map(packageName => `${packageName}@${versions[packageName]}`)
      const isOurs = packages.includes(own.name)
      entries.push({ name, peer, concurrency, packages: pinned, platform, isOurs })
    }
  }
  const rank = ({ name, isOurs }) => (isOurs ? 0 : name === baseline ? 2 : 1)
  return entries.sort((a, b) => rank(a) - rank(b))
}
