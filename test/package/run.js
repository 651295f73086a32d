// What a user gets: packs the built package, installs it in an empty project, and uses it from there.
// Usage: node test/package/run.js, after `npm run build` and `npm ci` in test.
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { assert, check, installPacked, npmCommand, run } from '../checks.js'
import { floors, newer } from '../floors.js'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '../..')
const packages = join(here, '../node_modules')
const project = mkdtempSync(join(tmpdir(), 'virtual-accounts-package-'))
const installed = join(project, 'node_modules/virtual-accounts')

/** All that publishing does, except sending it: the registry named here does not exist. */
function publishDry() {
  const nowhere = ['--registry=http://127.0.0.1:9', '--fetch-retries=0']
  const args = ['publish', '--dry-run', '--ignore-scripts', '--loglevel=notice', ...nowhere]
  return spawnSync(npmCommand, args, { cwd: root, encoding: 'utf8' })
}

/** Files that a page links to. The package has the pictures of README only: those of guides are too large for it. */
function linksOf(page) {
  const targets = Array.from(page.matchAll(/(?:\]\(|\b(?:src|href)=")([^)"#]+)/g), ([, target]) => target)
  return targets.filter(target => !/^[a-z]+:|^media\//.test(target))
}

function sizeOf(path) {
  if (!statSync(path).isDirectory()) return statSync(path).size
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
}

try {
  const packed = installPacked(root, project)
  const tarball = join(project, packed.filename)

  await check('the package holds only what users need', () => {
    const expected = [
      /^dist\/[\w-]+\.(js|cjs|d\.ts|d\.cts)$/,
      /^dist\/sbom\.cdx\.json$/,
      /^docs\/([\w-]+|decisions\/[\w-]+)\.md$/,
      /^docs\/openapi\.yaml$/,
      /^docs\/media\/playground\.svg$/,
      /^(package\.json|LICENSE|(README|CHANGELOG|CONTRIBUTING|SECURITY|THIRD-PARTY-LICENSES)\.md)$/,
    ]
    const names = packed.files.map(({ path }) => path)
    const strange = names.filter(name => !expected.some(pattern => pattern.test(name)))
    assert(strange.length === 0, `packed: ${strange.join(', ')}`)
    const missing = expected.filter(pattern => !names.some(name => pattern.test(name)))
    assert(missing.length === 0, `not packed: ${missing.join(', ')}`)
  })

  await check('npm would publish it as it is, to everybody', () => {
    const { status, stderr } = publishDry()
    const warnings = stderr
      .split('\n')
      .filter(line => line.startsWith('npm warn publish') && !line.includes('requires you to be logged in'))
    assert(status === 0 && warnings.length === 0, `${warnings.join('\n')}\n${stderr}`)
    assert(stderr.includes('with tag latest and public access (dry-run)'), stderr)
  })

  await check('installing adds one package of at most 0.86 MB', () => {
    const packages = readdirSync(join(project, 'node_modules')).filter(name => !name.startsWith('.'))
    assert(packages.join() === 'virtual-accounts', `installed: ${packages.join(', ')}`)
    const size = sizeOf(installed)
    assert(size < 860_000, `${size} bytes`)
  })

  await check('the links of all pages lead to files of the package', () => {
    const pages = packed.files.map(({ path }) => path).filter(path => path.endsWith('.md'))
    const broken = pages.flatMap(page =>
      linksOf(readFileSync(join(installed, page), 'utf8'))
        .filter(link => !existsSync(join(installed, dirname(page), link)))
        .map(link => `${page}: ${link}`),
    )
    assert(broken.length === 0, broken.join('\n'))
  })

  await check('an SBOM and the licences name what is bundled', () => {
    const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const licences = readFileSync(join(installed, 'THIRD-PARTY-LICENSES.md'), 'utf8')
    const sbom = JSON.parse(readFileSync(join(installed, 'dist/sbom.cdx.json'), 'utf8'))
    assert(sbom.bomFormat === 'CycloneDX' && sbom.specVersion === '1.6', 'not in the format of CycloneDX 1.6')
    const { name, version } = sbom.metadata.component
    assert(name === 'virtual-accounts' && version === packed.version, `it is of ${name} ${version}`)
    const bundled = sbom.components.map(({ group, name, version, licenses }) => {
      return [group ? `${group}/${name}` : name, version, licenses[0].license.id].join(' ')
    })
    const versionOf = name => `${name} ${devDependencies[name]}`
    const expected = ['ky', 'zod'].map(name => `${versionOf(name)} MIT`)
    assert(bundled.join() === expected.join(), `it names ${bundled.join(', ')}`)
    // Of the last one there are only types, which are in no bundle.
    for (const title of ['ky', 'zod', '@standard-schema/spec'].map(versionOf)) {
      assert(licences.includes(`## ${title}\n`), `${title} is not in THIRD-PARTY-LICENSES.md`)
    }
  })

  /** Files of dist, with what is in them. */
  const built = pattern =>
    readdirSync(join(installed, 'dist'))
      .filter(name => pattern.test(name))
      .map(name => [name, readFileSync(join(installed, 'dist', name), 'utf8')])

  await check('the code holds none of the locales of zod, and evaluates nothing', () => {
    for (const [name, code] of built(/\.c?js$/)) {
      assert(!/locales\/|Ungültige|Entrada inválida/.test(code), `${name} has a locale`)
      assert(!/\beval\(|new Function\(/.test(code), `${name} has eval or new Function`)
    }
  })

  await check('the types import only each other, and name none of what is bundled', () => {
    for (const [name, types] of built(/\.d\.c?ts$/)) {
      const imported = [
        ...types.matchAll(/^\s*(?:import|export)\b(?:.*\bfrom)?\s*['"]([^'"]+)/gm),
        ...types.matchAll(/\b(?:import|require)\(\s*['"]([^'"]+)/g),
      ]
      const others = imported.map(([, path]) => path).filter(path => !path.startsWith('./'))
      assert(others.length === 0, `${name} imports ${others.join(', ')}`)
      const code = types.replace(/\/\*.*?\*\//gs, '')
      assert(!/\b(ky|zod)\b/i.test(code), `${name} names ky or zod`)
    }
  })

  // What needs no network: the rest is in test/runtimes.
  const usage = `
    const service = new FakeService({ transactions: sampleTransactions(45) })
    const client = new Client({ baseUrl: service.baseUrl, apiKey: service.apiKey, fetch: service.fetch })
    if (client.constructor.name !== 'Client') throw new Error('its class is called ' + client.constructor.name)
    const ids = []
    for await (const { id } of client.transactions.list({ limit: 10 })) ids.push(id)
    if (ids.length !== 45) throw new Error('listed ' + ids.length)
    let cursor
    for await (const batch of client.transactions.list({ limit: 20 }).batches()) {
      cursor = batch.cursor
      if (batch.hasMore) break
    }
    let later = 0
    for await (const { id } of client.transactions.list(undefined, { after: cursor, verified: true })) later++
    if (later !== 25) throw new Error('listed ' + later + ' after the cursor')
    service.fail({ with: 'truncate' })
    const { idempotencyKey } = await client.virtualAccounts.deactivate({ customerId: 'c', virtualAccountId: 'v' })
    if (!idempotencyKey || service.isActive({ customerId: 'c', virtualAccountId: 'v' })) throw new Error('still active')
    const error = await client.withOptions({ apiKey: 'wrong_key' }).transactions.list().catch(error => error)
    if (!isApiError(error) || error.kind !== 'http' || error.status !== 401) throw error
    const leaving = new AbortController()
    service.fail({ with: 'hang' })
    setTimeout(() => leaving.abort())
    const aborted = await client.transactions.list({}, { signal: leaving.signal }).then(String, error => error)
    if (aborted.kind !== 'aborted') throw aborted
    service.fail({ with: 'hang' })
    const late = await client.request('GET', '/transactions', { timeout: 1, maxRetries: 0 }).catch(error => error)
    if (late.kind !== 'timeout') throw late
    service.fail({ with: () => Response.json({ data: [{ id: 1 }], page: 1, limit: 1, totalItems: 1 }) })
    const invalid = await client.transactions.list().then(String, error => error)
    if (invalid.kind !== 'invalid-response') throw invalid
    const options = { baseUrl: service.baseUrl, apiKey: service.apiKey, fetch: service.fetch }
    const report = await probe({ ...options, account: { customerId: 'c', virtualAccountId: 'v' } })
    if (!/^Nothing is broken/.test(String(report))) throw new Error(String(report))
    if (!/amount: z.number/.test(await inferSchema({ ...options, path: '/transactions' }))) throw new Error('another schema')
  `
  const names = '{ Client, isApiError, HttpError }'
  writeFileSync(
    join(project, 'esm.mjs'),
    `import ${names} from 'virtual-accounts'
    import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
    import { inferSchema, probe } from 'virtual-accounts/probe'
    import { createRequire } from 'node:module'
    ${usage}
    const other = createRequire(import.meta.url)('virtual-accounts')
    if (other.HttpError === HttpError || !(error instanceof other.HttpError)) throw new Error('the copies do not know each other')`,
  )
  writeFileSync(
    join(project, 'cjs.cjs'),
    `const ${names} = require('virtual-accounts')
    const { FakeService, sampleTransactions } = require('virtual-accounts/testing')
    const { inferSchema, probe } = require('virtual-accounts/probe')
    async function main() { ${usage} }
    main()`,
  )
  await check('import gives a client that works, and knows the errors of the required copy', () =>
    run('esm.mjs', [], { cwd: project }),
  )
  await check(
    'TypeScript finds the package by `main` and `types`, too, and the CommonJS files are readable',
    () => {
      writeFileSync(
        join(project, 'old.ts'),
        "import { Client } from 'virtual-accounts'\nexport const made: Client | undefined = undefined\n",
      )
      const how = [
        '--noEmit',
        '--strict',
        '--moduleResolution',
        'node10',
        '--module',
        'commonjs',
        '--target',
        'es2022',
      ]
      run(join(packages, 'typescript-5.9/bin/tsc'), [...how, 'old.ts'], { cwd: project })
      for (const [name, code] of built(/\.cjs$/))
        assert(code.length / code.split('\n').length < 100, `${name} has lines of more than 100 characters`)
    },
  )
  await check('require gives a client that works', () => run('cjs.cjs', [], { cwd: project }))

  /** Runs the program above after a change of the runtime. */
  const runAfter = change => {
    writeFileSync(join(project, 'changed.mjs'), `${change}\nawait import('./esm.mjs')`)
    return run('changed.mjs', [], { cwd: project })
  }
  const helper = name => JSON.stringify(pathToFileURL(join(here, '..', name)))

  await check('nothing that is newer than the floors of docs/runtimes.md is needed', () => {
    const guide = readFileSync(join(installed, 'docs/runtimes.md'), 'utf8').replaceAll(/\s+/g, ' ')
    assert(
      floors.split(', ').every(floor => guide.includes(floor)),
      `docs/runtimes.md does not name ${floors}`,
    )
    assert(newer.length > 50, `only ${newer.length} of them are in this Node`)
    runAfter(
      `import { newer } from ${helper('floors.js')}
      for (const [owner, name] of newer) {
        if (!delete owner[name] || name in owner) throw new Error('cannot delete ' + String(name))
      }`,
    )
  })
  await check('fetch may reject the signals of the AbortController, as in jsdom', () => {
    runAfter(`import ${helper('foreign-abort.js')}`)
  })

  // Every public name, as a strict consumer uses it; `as const satisfies` and the like would hide what is wrong.
  const consumer = `
    import {
      type AnyApiError, ApiError, Client, type ClientEvent, type ClientOptions, ConnectionError,
      type Fetch, HttpError, type HttpMethod, isApiError, type List, type ListOptions, type ListParams, type Page, PaginationError,
      type Query, InvalidResponseError, type RequestOptions, type Result, TimeoutError,
      type Transaction, type VirtualAccountRef, type WriteOptions,
    } from 'virtual-accounts'
    import {
      FakeService, type FakeServiceOptions, type Fault, type ReceivedRequest, sampleTransactions,
    } from 'virtual-accounts/testing'

    const service = new FakeService({ transactions: sampleTransactions(3, 1) } satisfies FakeServiceOptions)
    const options: ClientOptions = { baseUrl: new URL('https://a.test'), apiKey: async () => 'k', fetch: service.fetch }
    const client: Client = new Client({ ...options, onEvent: (event: ClientEvent) => void event.type })
    const list: List<Transaction> = client.transactions.list({ page: 1, limit: 2, query: { a: ['b', 1, true] } })
    const account: VirtualAccountRef = { customerId: 'c', virtualAccountId: 'v' }
    const validate = (value: unknown) => ({ value: String(value) })
    const types = undefined as { input: unknown; output: string } | undefined
    const schema = { '~standard': { version: 1, vendor: 'x', validate, types } } as const
    export async function main(signal: AbortSignal): Promise<string> {
      for await (const { id, amount } of list) { const sum: number = amount; void [id, sum] }
      for await (const { items, cursor } of list.batches()) { const batch: [Transaction[], string] = [items, cursor]; void batch }
      const page: Page<Transaction> = await list
      const next: Page<Transaction> | undefined = await page.nextPage()
      const texts: List<string> = client.list('/texts', undefined, { schema, signal, itemKey: text => text.length, after: undefined })
      const result: Result<unknown> = await client.virtualAccounts.deactivate(account, { idempotencyKey: 'k', body: {} })
      for (const { id } of page.data) void id
      const method: HttpMethod = 'PUT'
      const typed: Result<string> = await client.request(method, '/x', { schema, headers: { a: 'b' } })
      try { await client.virtualAccounts.reactivate(account) } catch (error) {
        if (isApiError(error)) {
          const any: AnyApiError = error
          if (any.kind === 'http') return String(any.status + (any.retryAfterMs ?? 0))
          if (any.kind === 'timeout') return String(any.timeoutMs)
          if (any.kind === 'invalid-response') return any.issues.map(issue => issue.path.join()).join()
        }
        if (error instanceof ApiError || error instanceof HttpError || error instanceof ConnectionError) return error.message
        if (error instanceof TimeoutError || error instanceof InvalidResponseError || error instanceof PaginationError) return error.path
      }
      return [page.pageCount, next?.page, texts, result.status, typed.data.length].join()
    }
    export const others: [RequestOptions?, WriteOptions?, ListOptions?, ListParams?, Query?, Fetch?, Fault?, ReceivedRequest?] = []
  `
  for (const [folder, type] of [
    ['as-module', 'module'],
    ['as-commonjs', 'commonjs'],
  ]) {
    mkdirSync(join(project, folder))
    writeFileSync(join(project, folder, 'package.json'), JSON.stringify({ private: true, type }))
    writeFileSync(join(project, folder, 'consumer.ts'), consumer)
  }
  const lib = ['--lib', 'es2023,dom,dom.iterable']
  // With the types of Node alone, many of the browser's are unknown.
  const node = ['--lib', 'es2023', '--types', 'node', '--typeRoots', join(root, 'node_modules/@types')]
  const settings = {
    'as a module, resolved by nodenext': ['as-module', 'nodenext', lib],
    'as CommonJS, resolved by nodenext': ['as-commonjs', 'nodenext', lib],
    'as a module, resolved by bundler': ['as-module', 'bundler', lib],
    'as a module, with the types of Node alone': ['as-module', 'nodenext', node],
  }
  for (const [version, folder] of Object.entries({
    5.9: 'typescript-5.9',
    '6.0': 'typescript',
    '7.0': 'typescript-7.0',
  })) {
    const tsc = join(packages, folder, 'bin/tsc')
    for (const [name, [folder, resolution, types]] of Object.entries(settings)) {
      await check(`TypeScript ${version} compiles a consumer ${name}`, () => {
        const module = resolution === 'bundler' ? 'esnext' : 'nodenext'
        const how = ['--module', module, '--moduleResolution', resolution, '--target', 'es2022', ...types]
        const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', 'false']
        run(tsc, [...strict, ...how, 'consumer.ts'], { cwd: join(project, folder) })
      })
    }
  }

  const bin = name => join(packages, name)
  await check('publint has nothing to say', () =>
    run(bin('publint/src/cli.js'), [tarball, '--strict'], { cwd: root }),
  )
  await check('the types fit the code for every way to import it', () => {
    run(bin('@arethetypeswrong/cli/dist/index.js'), [tarball, '--profile', 'node16'], { cwd: root })
  })
} finally {
  rmSync(project, { recursive: true, force: true })
}
