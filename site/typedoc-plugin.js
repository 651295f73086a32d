import { MarkdownPageEvent } from 'typedoc-plugin-markdown'

/** @param {import('typedoc-plugin-markdown').MarkdownApplication} app */
export function load(app) {
  // An option without a default has nothing in that column.
  app.renderer.on(MarkdownPageEvent.END, page => {
    page.contents = page.contents.replaceAll('| `undefined` |', '| |')
  })
}
