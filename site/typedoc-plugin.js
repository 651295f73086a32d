import { readFileSync } from 'node:fs'
import { MarkdownPageEvent } from 'typedoc-plugin-markdown'

const root = new URL('..', import.meta.url)
/** Guides for all options of a page. */
const guides = {
  ListParams: '/docs/lists.md',
  FakeServiceOptions: '/docs/testing.md',
  InferSchemaOptions: '/docs/service.md',
}
/** The guide of any other option, from the first link of its row in docs/options.md. */
const guideOf = new Map(
  Array.from(
    readFileSync(new URL('docs/options.md', root), 'utf8').matchAll(/^\| `(\w+)` \|(.*)$/gm),
    ([, option, row]) => {
      const { pathname, hash } = new URL(/\]\(([^\s)]+)\)/.exec(row)?.[1] ?? '', 'docs:/docs/options.md')
      return [option, pathname + hash]
    },
  ),
)

/** @param {import('typedoc-plugin-markdown').MarkdownApplication} app */
export function load(app) {
  app.renderer.on(MarkdownPageEvent.END, page => {
    const [, name] = /^# (\w+)/.exec(page.contents) ?? []
    const [, kind] = /\/(classes|functions|interfaces|type-aliases)\//.exec(page.url) ?? []
    page.contents = page.contents
      // The signature shows the type parameters.
      .replace(/^(# \w+)\\<.*$/m, '$1')
      .replace(/^(# .*)\n/, heading => (kind ? `${heading}\n${importOf(name, kind, page.url)}\n` : heading))
      .replaceAll(/^#+ Type Parameters\n\n(?:\|.*\n)+/gm, '')
      // The top of the page says where properties come from.
      .replaceAll(/^#+ (?:Inherited from|Overrides|Implementation of)\n\n.*\n/gm, '')
      .replaceAll(/^\*\*\*\n/gm, '')
      .replaceAll('[asyncIterator', '[Symbol.asyncIterator')
      // In the source, the order of these is for TypeScript's suggestions.
      .replace(/^(### reactivate\(\)[\s\S]*)(### deactivate\(\)[\s\S]*)/m, '$2\n\n$1')
      .replace('## Constructors\n\n### Constructor\n', `## Constructor\n\n### new ${name}()\n`)
      .replace(/^## Extended by\n\n(?:- .*\n)+/m, '')
      // A separate section would come before the properties. Names that are not exported have no page, so they are left out.
      .replace(/^(## Example\n[\s\S]*?)?^## Extends\n\n((?:- .*\n)+)/m, (_all, example = '', bases) => {
        const linked = bases.match(/(?<=^- )\[`\w+`\]\([^)]+\)/gm) ?? []
        return linked.length > 0 ? `Extends ${linked.join(', ')}.\n\n${example}` : example
      })
      // The call that most readers need comes first. Each second signature is the same call without a schema.
      .replaceAll(
        /#### Call Signature(\n(?:(?!#{1,4} ).*\n)+)#### Call Signature(\n(?:(?!#{1,4} ).*\n)+)/g,
        '#### Without a schema$2#### With a schema$1',
      )
      .replaceAll(/& (\\?\{)\s+(.+);\s*(\\?\})/g, '& $1 $2 $3')
      .replaceAll(/^ {3}(\w+\??: .*?) ?$/gm, '  $1')
      // A long signature has a line for each parameter.
      .replaceAll(
        /^((?:readonly )?\w+(?:<\w+>)?)\((\w+\??: .*)\): (.*;)$/gm,
        (line, start, parameters, result) =>
          line.length > 72
            ? `${start}(\n  ${parameters.replaceAll(/, (?=\w+\??: )/g, ',\n  ')}\n): ${result}`
            : line,
      )
      .replaceAll(/^\| Parameter \|.*\n.*\n((?:\|.*\n)+)/gm, (_all, rows) => parametersOf(rows))
      .replaceAll(/^#### Without a schema[\s\S]*?^#### With a schema(?:\n(?!#{1,4} ).*)+/gm, withoutRepeats)
      .replaceAll(/(?<=(?:^#+ Throws\n\n|\*\*Throws\*\*).*)(?<![`[])\b\w*Error\b/gm, '`$&`')
      // The signature shows the type. Only a link is worth a section.
      .replaceAll(/^(#+ Returns\n\n)(.+)\n/gm, (_all, heading, type) =>
        type.includes('](') ? `${heading}${codeOf(type)}\n` : '',
      )
      .replace(/^## Properties\n\n(?:\|.*\n)+/m, table => propertiesOf(name, table))
  })
}

/** The import of the name that a page documents. */
function importOf(name, kind, url) {
  const type = /^(?:classes|functions)$/.test(kind) ? '' : 'type '
  const [, path = ''] = /^virtual-accounts(\/(?:testing|probe))\//.exec(url) ?? []
  return `\`\`\`ts\nimport ${type}{ ${name} } from 'virtual-accounts${path}'\n\`\`\``
}

/** Code with links. TypeDoc writes each name in a type as separate code. */
function codeOf(type) {
  const escaped = code => code.replaceAll(/[<>{}[\]_&]/g, sign => `&#${sign.charCodeAt()};`)
  return `<code>${type.replaceAll('*', '').replaceAll(/`([^`]*)`/g, (_all, code) => escaped(code))}</code>`
}

/** A list, because most parameters need no description. */
function parametersOf(rows) {
  return rows.replaceAll(
    /^\| `(\S+)` \| (.*?)(?: \| (.*))? \|$/gm,
    (_all, name, type, text = '-') => `- ${codeOf(`${name}: ${type}`)}${text === '-' ? '' : `<br>${text}`}`,
  )
}

/** The second signature has only the parameters in which it differs. */
function withoutRepeats(signatures) {
  const [first, second] = signatures.split('#### With a schema')
  const own = second
    .replaceAll(/^- .*\n\n?/gm, line => (first.includes(line.trimEnd()) ? '' : line))
    .replace('##### Parameters\n', 'Parameters and errors are as above, except:\n')
  return `${first}#### With a schema${own}`
}

/**
 * One table: required properties, then own ones, then inherited ones, each in the order of docs/options.md. Each name links to
 * itself, with its type below it.
 */
function propertiesOf(name, table) {
  const isOptions = /(Options|Params)$/.test(name)
  const [columns, , ...rows] = Array.from(table.matchAll(/^\| (.*) \|$/gm), ([, row]) =>
    row.split(/(?<!\\) \| /),
  )
  const shown = rows.map(row => {
    const cell = title => row[columns.indexOf(title)] ?? ''
    const property = cell('Property')
    const byDefault = cell('Default value') || '`undefined`'
    const option = /`(\w+)\??`$/.exec(property)?.[1]
    const isOptional = property.endsWith('?`')
    // TypeDoc joins the lines of a list.
    const text = cell('Description')
      .replace(/ - .*/, list => `<ul>${list.replaceAll(/ - (.*?) *(?= - |$)/g, '<li>$1</li>')}</ul>`)
      .replaceAll(' **Throws**', '<br>**Throws**')
    const isSaid = !isOptional || /^`(undefined|none)`$/.test(byDefault)
    const shownDefault = isSaid ? '' : `<br>Default: ${proseOf(byDefault)}`
    const isShort = byDefault.length < 20
    const parts = [
      text,
      shownDefault && !isShort && `${shownDefault}.`,
      isOptions ? `[Guide](${guideTo(name, option)})` : '',
    ]
    const linked = property.replace(/^<a id="(.*)"><\/a> (.*)/, '<a id="$1" href="#$1">$2</a>')
    const type = codeOf(cell('Type').replace(/^\\\| /, ''))
    const left = `${linked}<br>${type}${isShort ? shownDefault : ''}`
    const order = [...guideOf.keys()].indexOf(option) + 1
    const isInherited = /`/.test(cell('Inherited from'))
    // Of a client's own options, few are needed.
    const isLater = isOptional && isInherited === (name !== 'ClientOptions')
    const rank = order + 100 * (Number(isOptional) + Number(isLater))
    return { rank, row: `| ${left} | ${parts.filter(Boolean).join(' ')} |` }
  })
  const sorted = shown.toSorted((one, other) => one.rank - other.rank)
  const [heading, title] = isOptions ? ['Options', 'Option'] : ['Properties', 'Property']
  const body = sorted.map(({ row }) => `${row}\n`).join('')
  const links = Array.from(
    body.matchAll(/ href="(#.*?)">`(\w+)/g),
    ([, hash, option]) => `[${option}](${hash})`,
  )
  const index = isOptions && links.length > 8 ? `${links.join(' · ')}\n\n` : ''
  return `## ${heading}\n\n${index}| ${title} | Description |\n|---|---|\n${body}`
}

function guideTo(name, option) {
  const other = name === 'ProbeOptions' ? guides.InferSchemaOptions : '/docs/options.md'
  return guides[name] ?? guideOf.get(option) ?? other
}

/** A default as prose, because TypeDoc treats every default as code. */
function proseOf(byDefault) {
  return /^`[^'"[]* /.test(byDefault) ? byDefault.slice(1, -1) : byDefault.replaceAll(/(?<=\d)_(?=\d)/g, ',')
}
