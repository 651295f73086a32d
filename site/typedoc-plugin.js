import { MarkdownPageEvent } from 'typedoc-plugin-markdown'

/** @param {import('typedoc-plugin-markdown').MarkdownApplication} app */
export function load(app) {
  app.renderer.on(MarkdownPageEvent.END, page => {
    page.contents = page.contents
      .replaceAll(/^#+ Default Value\n\n(?:```ts\n(.*)\n```|(.*))$/gm, (_all, code, text) =>
        (code ?? text) === 'undefined' ? '' : `Default: ${code ? `\`${code}\`` : text}`,
      )
      // Where a property comes from is said once, at the top.
      .replaceAll(/^#+ (?:Inherited from|Overrides|Implementation of)\n\n.*\n/gm, '')
      .replaceAll(/^\*\*\*\n/gm, '')
      // A section of its own would come before the properties. What is not exported has no page, and needs no mention.
      .replace(/^## Extends\n\n- (.*)$/m, (_all, base) => (base.includes('](') ? `Extends ${base}.` : ''))
  })
}
