import { MarkdownPageEvent } from 'typedoc-plugin-markdown'

/** @param {import('typedoc-plugin-markdown').MarkdownApplication} app */
export function load(app) {
  app.renderer.on(MarkdownPageEvent.END, page => {
    page.contents = page.contents
      // In a table: a default is one line of code, and nothing where there is none.
      .replace(/<td>\n\n```ts\n(.*)\n```\n\n<\/td>/g, '<td>\n\n`$1`\n\n</td>')
      .replace(/<td>\n\n(`undefined`|&hyphen;)\n\n<\/td>/g, '<td></td>')
      // A section of its own would come before the properties.
      .replace(/^## Extends\n\n- (.*)$/m, 'Extends $1.')
  })
}
