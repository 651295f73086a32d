import { copyFileSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import reference from '../api/typedoc-sidebar.json' with { type: 'json' }
import { guides, project } from '../guides.js'
import { writeForModels } from '../llms.js'

const { description, repository } = JSON.parse(read('package.json'))
const address = repository?.url.replace(/^git\+|\.git$/g, '')

/** Pages are outside this folder, where no Vue is found; the program that renders them is inside, and finds it. */
const vueIsHere = {
  name: 'vue-is-here',
  enforce: 'pre',
  resolveId: (id, _importer, { ssr }) => (ssr && /^vue($|\/)/.test(id) ? { id, external: true } : undefined),
}

/** First in their groups of the reference. The others follow by name. */
const mainTypes = [
  'Client',
  'ClientOptions',
  'RequestOptions',
  'WriteOptions',
  'ListOptions',
  'ListParams',
  'List',
  'Page',
  'Result',
  'Transaction',
]

export default defineConfig({
  title: 'virtual-accounts',
  description,
  // Pages have the addresses that they have in the repository, so that their links work in both.
  srcDir: '..',
  srcExclude: [
    '{src,etc,tools,coverage}/**',
    'examples/!(react-table|README.md)/**',
    'test/!(simulation)/**',
    'README.md',
  ],
  rewrites: { 'site/:page*': ':page*' },
  head: [
    [
      'link',
      { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(read('site/public/favicon.svg'))}` },
    ],
  ],
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-default' },
    anchor: { slugify },
    config: wrapCode,
  },
  themeConfig: {
    logo: '/favicon.svg',
    nav: [
      { text: 'Guides', link: '/docs/getting-started', activeMatch: '/docs/' },
      { text: 'Reference', link: '/api/virtual-accounts/', activeMatch: '/api/' },
      { text: 'Playground', link: '/playground' },
      { text: 'Demo', link: '/demo/', target: '_self' },
    ],
    sidebar: {
      '/': [...guides.map(sidebarOf), ...project.map(group => ({ ...sidebarOf(group), collapsed: true }))],
      '/api/': reference.map(group => ({ ...sorted(group), collapsed: undefined })),
    },
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        detailedView: true,
        // The browser gets the text of these functions: they use nothing from outside.
        miniSearch: {
          options: {
            processTerm: term =>
              !/^(an?|and|are|as|at|be|by|do|does|for|from|how|i|in|is|it|my|of|on|or|that|the|this|to|what|when|which|with)$/i.test(
                term,
              ) && term.toLowerCase(),
          },
          searchOptions: {
            fuzzy: term => (term.length < 5 ? false : 0.2),
            // Guides first, and what contributors read last.
            boostDocument: id => {
              if (/\/(architecture|one-call|decisions|CONTRIBUTING)\b/.test(id)) return 0.5
              return /\/docs\/[^/]*$/.test(id) ? 2 : 1
            },
          },
        },
      },
    },
    ...(address && {
      editLink: { pattern: `${address}/edit/main/:path` },
      socialLinks: [{ icon: 'github', link: address }],
    }),
  },
  transformPageData({ filePath, frontmatter }) {
    if (!filePath.startsWith('site/api/')) return
    frontmatter.editLink = false
    frontmatter.pageClass = 'reference'
  },
  buildEnd(config) {
    writeForModels(config)
    copyFileSync(pathOf('docs/openapi.yaml'), `${config.outDir}/docs/openapi.yaml`)
  },
  vite: {
    publicDir: 'site/public',
    plugins: [vueIsHere],
    resolve: {
      // The package as it was just built.
      alias: [
        { find: /^virtual-accounts\/testing$/, replacement: pathOf('dist/testing.js') },
        { find: /^virtual-accounts$/, replacement: pathOf('dist/index.js') },
      ],
    },
  },
})

function pathOf(file) {
  return fileURLToPath(new URL(`../../${file}`, import.meta.url))
}

function read(file) {
  return readFileSync(pathOf(file), 'utf8')
}

function sidebarOf({ text, pages }) {
  return { text, items: pages.map(page => ({ text: titleOf(page), link: `/${page}` })) }
}

/** Groups of types stay in their order; the types in them are sorted. */
function sorted({ items, ...given }) {
  if (!items) return given
  const rank = ({ text }) => mainTypes.indexOf(text) + 1 || mainTypes.length + 1
  const inOrder = items.every(({ items }) => !items)
    ? items.toSorted((one, other) => rank(one) - rank(other) || one.text.localeCompare(other.text))
    : items.map(sorted)
  return { ...given, items: inOrder }
}

function titleOf(page) {
  return /^# (.*)$/m.exec(read(`${page}.md`))[1]
}

/** Where code in a line may wrap: between the segments of a path, and in narrow tables between the words of a name. */
function wrapCode(md) {
  const render = md.renderer.rules.code_inline
  md.renderer.rules.code_inline = (...given) =>
    render(...given)
      .replace(/(?<=[\w};])\//g, '<wbr>/')
      .replace(/(?<=[a-z])(?=[A-Z])/g, '<wbr class="word">')
}

/** Anchors as GitHub creates them. */
function slugify(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}
