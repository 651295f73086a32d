// What the site needs beyond TypeDoc's options: guides named by their headings, found by search, and linked in order.
import { CommentTag, Converter, IndexEvent, JSX, ReflectionKind } from 'typedoc'

const groups = [
  [/^docs\/decisions\//, 'Decisions'],
  [/^docs\/(architecture|interface|one-call|performance|unspecified)$/, 'How it works'],
  [/^docs\//, 'Guides'],
  [/^/, 'The project'],
]

/** @param {import('typedoc').Application} app */
export function load(app) {
  const { converter, renderer } = app
  converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) => nameAndGroup(document))
  converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    removeInherited(project)
    groupModules(project)
  })
  renderer.on(IndexEvent.PREPARE_INDEX, addToSearch)

  // TypeDoc has no main landmark, and no hook around its content: so one hook opens the tag and another closes it.
  renderer.hooks.on('content.begin', () => raw('<main>'))
  renderer.hooks.on('content.end', context => [neighbours(context), raw('</main>')])
}

function raw(html) {
  return JSX.createElement(JSX.Raw, { html })
}

function textOf(document) {
  return document.content.map(part => part.text).join('')
}

function nameAndGroup(document) {
  const [, group] = groups.find(([file]) => file.test(document.name))
  document.frontmatter.group = group
  document.name = /^# (.*)$/m.exec(textOf(document))[1]
}

function groupModules(project) {
  for (const module of project.getReflectionsByKind(ReflectionKind.Module)) {
    module.comment.blockTags.push(new CommentTag('@group', [{ kind: 'text', text: 'API reference' }]))
  }
}

/** Removes what Promise and Error bring along. Of these, only the message of an error and its cause are for callers. */
function removeInherited(project) {
  for (const reflection of Object.values(project.reflections)) {
    const isInherited = reflection.flags.isExternal && reflection.flags.isInherited
    if (isInherited && !['message', 'cause'].includes(reflection.name)) project.removeReflection(reflection)
  }
}

/**
 * Ranks guides before names of the API, most of all by their headings, and by words in a comment that readers may search:
 * `<!-- search: cancel, page size -->`. A member is found once, in the class that declares it.
 */
function addToSearch(event) {
  event.searchFieldWeights.topics = 20
  for (let index = event.searchResults.length - 1; index >= 0; index--) {
    const result = event.searchResults[index]
    if (result.inheritedFrom) event.removeResult(index)
    if (!result.isDocument()) continue
    result.relevanceBoost = result.frontmatter.group === 'Guides' ? 7 : 1
    const topics = textOf(result).match(/^(# |## |<!-- search: ).*$/gm)
    event.searchFields[index] = { topics: topics.join('\n') }
  }
}

/** Links to the previous and the next guide, at the foot of a guide. */
function neighbours({ page, urlTo }) {
  const guides = page.project.documents.filter(document => document.frontmatter.group !== 'The project')
  const index = guides.indexOf(page.model)
  if (index === -1) return
  const link = (guide, rel, label) =>
    guide &&
    JSX.createElement('a', { href: urlTo(guide), rel }, JSX.createElement('span', null, label), guide.name)
  return JSX.createElement(
    'nav',
    { class: 'neighbours', 'aria-label': 'Previous and next guide' },
    link(guides[index - 1], 'prev', 'Previous'),
    link(guides[index + 1], 'next', 'Next'),
  )
}
