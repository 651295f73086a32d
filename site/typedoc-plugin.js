import { existsSync, readFileSync } from 'node:fs'
import { MarkdownPageEvent } from 'typedoc-plugin-markdown'

const root = new URL('..', import.meta.url)
const service = ['docs/service.md', 'docs/probe.md'].find(guide => existsSync(new URL(guide, root)))
/** The guide of all options on a page. */
const guides = {
  ListParams: '/docs/lists.md',
  FakeServiceOptions: '/docs/testing.md',
  InferSchemaOptions: `/${service}`,
}
/** Of any other option: the first link of its row in docs/options.md. */
const guideOf = new Map(
  Array.from(
    readFileSync(new URL('docs/options.md', root), 'utf8').matchAll(/^\| `(\w+)` \|(.*)$/gm),
    ([, option, row]) => {
      const { pathname, hash } = new URL(/\]\((\S+)\)/.exec(row)?.[1] ?? '', 'docs:/docs/options.md')
      return [option, pathname + hash]
    },
  ),
)

/** @param {import('typedoc-plugin-markdown').MarkdownApplication} app */
export function load(app) {
  app.renderer.on(MarkdownPageEvent.END, page => {
    const [, name] = /^# (\w+)/.exec(page.contents) ?? []
    page.contents = page.contents
      // What a type parameter is, the signature shows.
      .replace(/^(# \w+)\\<.*$/m, '$1')
      .replaceAll(/^#+ Type Parameters\n\n(?:\|.*\n)+/gm, '')
      .replaceAll(/^#+ Default Value\n\n(?:```ts\n(.*)\n```|(.*))$/gm, (_all, code, text) =>
        (code ?? text) === 'undefined' ? '' : `Default: ${code ? `\`${code}\`` : text}`,
      )
      // Where a property comes from is said once, at the top.
      .replaceAll(/^#+ (?:Inherited from|Overrides|Implementation of)\n\n.*\n/gm, '')
      .replaceAll(/^\*\*\*\n/gm, '')
      .replace(/^## Extended by\n\n(?:- .*\n)+/m, '')
      // A section of its own would come before the properties. What is not exported has no page, and needs no mention.
      .replace(/^## Extends\n\n((?:- .*\n)+)/m, (_all, bases) => {
        const linked = bases.match(/(?<=^- )\[`\w+`\]\([^)]+\)/gm) ?? []
        return linked.length > 0 ? `Extends ${linked.join(', ')}.\n` : ''
      })
      .replace(/^## Properties\n\n(?:\|.*\n)+/m, table => propertiesOf(name, table))
  })
}

/** One table, required ones first, with the default in the description. */
function propertiesOf(name, table) {
  const isOptions = /(Options|Params)$/.test(name)
  const [head, , ...rows] = table.split('\n').filter(row => row.startsWith('|'))
  const hasDefault = head.includes('| Default value |')
  const shown = rows.map(row => {
    const cells = row.slice(2, -2).split(/(?<!\\) \| /)
    const [property, type, ...others] = cells
    const byDefault = hasDefault ? others.shift() : undefined
    const option = /`(\w+)\??`$/.exec(property)?.[1]
    const isOptional = property.endsWith('?`')
    const parts = [
      others
        .join(' ')
        .replaceAll(/ (?:- |(?=\*\*Throws\*\*))/g, match => (match === ' ' ? '<br>' : '<br>• ')),
      isOptional && byDefault && !/^`(undefined|none)`$/.test(byDefault) && `Default: ${proseOf(byDefault)}.`,
      isOptions &&
        `[Guide](${guides[name] ?? guideOf.get(option) ?? (/Probe/.test(name) ? `/${service}` : '/docs/options.md')})`,
    ]
    return {
      isOptional,
      cells: [property, type.replace(/^\\\| /, ''), parts.filter(Boolean).join(' ')],
    }
  })
  const sorted = shown.toSorted((one, other) => one.isOptional - other.isOptional)
  const title = isOptions ? 'Options' : 'Properties'
  const titles = [isOptions ? 'Option' : 'Property', 'Type', 'Description']
  return `## ${title}\n\n| ${titles.join(' | ')} |\n|---|---|---|\n${sorted.map(({ cells }) => `| ${cells.join(' | ')} |`).join('\n')}\n`
}

/** TypeDoc takes every default for code. */
function proseOf(byDefault) {
  return /^`[^'"[]* /.test(byDefault) ? byDefault.slice(1, -1) : byDefault
}
