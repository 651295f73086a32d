// What an import from 'virtual-accounts' adds to a web page: minified and gzipped, by two bundlers.
// Usage: node tools/size.js, after `npm run build`.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { rolldown } from 'rolldown'

/** Bytes for each name that is imported alone. Lower a limit when the code has become smaller. */
const limits = { Client: 33_000, isApiError: 2_000 }

const root = join(import.meta.dirname, '..')
const entry = 'entry.js'

/** Each gives the code of a bundle, and the files that went into it. */
const bundlers = {
  async esbuild(contents) {
    const options = { bundle: true, minify: true, format: 'esm', metafile: true, write: false }
    const stdin = { contents, resolveDir: root, sourcefile: entry }
    const { outputFiles, metafile } = await build({ stdin, absWorkingDir: root, ...options })
    return { code: outputFiles[0].text, files: Object.keys(metafile.inputs) }
  },

  async rolldown(contents) {
    const isEntry = id => id === entry
    const plugin = {
      name: entry,
      resolveId: id => (isEntry(id) ? { id, moduleSideEffects: true } : undefined),
      load: id => (isEntry(id) ? contents : undefined),
    }
    const bundle = await rolldown({ input: entry, cwd: root, platform: 'browser', plugins: [plugin] })
    const { output } = await bundle.generate({ format: 'esm', minify: true })
    await bundle.close()
    return {
      code: output[0].code,
      files: output[0].moduleIds.map(id => (isEntry(id) ? id : relative(root, id))),
    }
  },
}

/** What zod says in other languages, to notice when one of them comes along. */
function textsOfLocales() {
  const folder = join(root, 'node_modules/zod/v4/locales')
  const names = readdirSync(folder).filter(name => name.endsWith('.js') && name !== 'en.js')
  const texts = names.flatMap(name => [
    ...readFileSync(join(folder, name), 'utf8').matchAll(/"([^"\\\n]{12,})"/g),
  ])
  return texts.map(([, text]) => text).filter(text => /[^!-~]/.test(text))
}

const locales = textsOfLocales()
if (locales.length < 500) throw new Error(`zod: found only ${locales.length} texts in its locales`)

for (const [name, limit] of Object.entries(limits)) {
  for (const [bundler, bundle] of Object.entries(bundlers)) {
    const { code, files } = await bundle(`export { ${name} } from 'virtual-accounts'`)
    const bytes = gzipSync(code, { level: 9 }).length
    const problems = [
      bytes > limit && `more than ${limit}`,
      ...files
        .filter(file => file !== entry && !/^dist\/[\w-]+\.js$/.test(file))
        .map(file => `it holds ${file}`),
      ...locales.filter(text => code.includes(text)).map(text => `it holds a locale of zod: "${text}"`),
      code.includes('Top-up') && 'it holds the fake service of virtual-accounts/testing',
    ].filter(Boolean)
    if (problems.length > 0) process.exitCode = 1
    const mark = problems.length === 0 ? '✓' : '✗'
    console.log(`${mark} ${name} by ${bundler}: ${code.length} minified, ${bytes} gzipped`)
    for (const problem of problems) console.error(`    ${problem}`)
  }
}
