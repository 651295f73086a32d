// Compares the package's exports with the reports in etc/. With --local, it rewrites the reports.
// Usage: node tools/api.js [--local], after `npm run build`.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor'

const root = join(import.meta.dirname, '..')
const configFile = join(root, 'tools/api-extractor.json')
const localBuild = process.argv.includes('--local')
mkdirSync(join(root, 'etc'), { recursive: true })

for (const [entry, report] of [
  ['index', 'virtual-accounts'],
  ['testing', 'virtual-accounts-testing'],
  ['probe', 'virtual-accounts-probe'],
]) {
  const settings = ExtractorConfig.loadFile(configFile)
  settings.mainEntryPointFilePath = join(root, `dist/${entry}.d.ts`)
  settings.apiReport.reportFileName = report
  const config = ExtractorConfig.prepare({
    configObject: settings,
    configObjectFullPath: configFile,
    packageJsonFullPath: join(root, 'package.json'),
  })
  const { succeeded } = Extractor.invoke(config, {
    localBuild,
    printApiReportDiff: true,
    messageCallback: message => {
      // Hides the greeting and the version of its compiler.
      if (message.logLevel === 'info') message.handled = true
    },
  })
  console.log(`${succeeded ? '✓' : '✗'} etc/${report}.api.md`)
  if (!succeeded) process.exitCode = 1
}
if (process.exitCode)
  console.error('If you meant this change, run npm run api -- --local and add a line to CHANGELOG.md')
