// Names each guide in TypeDoc's sidebar by its heading instead of its file, and puts it under one of a few headings.
import { Converter } from 'typedoc'

const groups = [
  [/^docs\/decisions\//, 'Decisions'],
  [/^docs\/(architecture|interface|one-call|performance|unspecified)$/, 'How it works'],
  [/^docs\//, 'Guides'],
  [/^/, 'The project'],
]

/** @param {import('typedoc').Application} app */
export function load(app) {
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) => {
    const [, group] = groups.find(([file]) => file.test(document.name))
    const text = document.content.map(part => part.text).join('')
    document.frontmatter.group = group
    document.name = /^# (.*)$/m.exec(text)[1]
  })
}
