// Files for language models: the guides as plain Markdown, their index, and all of them in one file.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { guides } from './guides.js'

const root = join(import.meta.dirname, '..')

/** Writes llms.txt, llms-full.txt and the guides into the built site. */
export function writeForModels({ outDir, site: { title, description, base } }) {
  const write = (file, text) => {
    mkdirSync(dirname(join(outDir, file)), { recursive: true })
    writeFileSync(join(outDir, file), text)
  }
  const all = guides.flatMap(({ pages }) => pages)
  for (const page of all) write(`${page}.md`, textOf(page))
  write('llms-full.txt', all.map(textOf).join('\n'))
  const index = guides.map(({ text, pages }) => `## ${text}\n\n${pages.map(entry).join('\n')}\n`)
  write('llms.txt', [`# ${title}\n`, `> ${description}\n`, ...index].join('\n'))

  function entry(page) {
    const text = textOf(page)
    const [, heading] = /^# (.*)$/m.exec(text)
    return `- [${heading}](${base}${page}.md): ${firstSentence(text)}`
  }
}

/** The first sentence of the first prose paragraph, without links. */
function firstSentence(text) {
  const prose = text.split(/\n{2,}/).find(block => /^(?!```)[\w`[*]/.test(block))
  const plain = prose.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('\n', ' ')
  return plain.replace(/[.:?] .*|:$/, '.')
}

/** A guide without the comments for its tests. */
function textOf(page) {
  const text = readFileSync(join(root, `${page}.md`), 'utf8')
  return text.replace(/^<!-- .* -->\n+/gm, '')
}
