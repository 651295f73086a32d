// Writes dist/sbom.cdx.json, in the format of CycloneDX: the packages whose code or types are in dist. The package has
// no dependencies that npm or a scanner could see. The same code gives the same file, so it has no date and no serial
// number. Runs after each build.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
const readJson = path => JSON.parse(readFileSync(join(root, path), 'utf8'))

// Types are in no metafile: `dts.resolve` in tsup.config.ts.
const typesOnly = ['@standard-schema/spec']

/** By the metafiles of esbuild, which are of no use to users. */
function bundledPackages() {
  const names = readdirSync(dist)
    .filter(name => /^metafile-\w+\.json$/.test(name))
    .flatMap(name => {
      const { inputs } = JSON.parse(readFileSync(join(dist, name), 'utf8'))
      rmSync(join(dist, name))
      return Object.keys(inputs).map(path => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1])
    })
  return [...new Set(names.filter(name => name !== undefined))].sort()
}

function component(name, { version, license, description }) {
  const [group, unscoped] = name.startsWith('@') ? name.split('/') : [undefined, name]
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  return {
    type: 'library',
    'bom-ref': purl,
    ...(group && { group }),
    name: unscoped,
    version,
    description,
    licenses: [{ license: { id: license } }],
    purl,
  }
}

const { packages } = readJson('package-lock.json')
const self = readJson('package.json')
const subject = component(self.name, self)
const components = [...bundledPackages(), ...typesOnly].map(name => {
  const [, sha512] = /^sha512-(.+)$/.exec(packages[`node_modules/${name}`].integrity)
  return {
    ...component(name, readJson(`node_modules/${name}/package.json`)),
    hashes: [{ alg: 'SHA-512', content: Buffer.from(sha512, 'base64').toString('hex') }],
  }
})

const sbom = {
  $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: { lifecycles: [{ phase: 'build' }], component: subject },
  components,
  dependencies: [
    { ref: subject.purl, dependsOn: components.map(({ purl }) => purl) },
    ...components.map(({ purl }) => ({ ref: purl })),
  ],
  compositions: [{ aggregate: 'complete', dependencies: [subject.purl] }],
}
writeFileSync(join(dist, 'sbom.cdx.json'), `${JSON.stringify(sbom)}\n`)
