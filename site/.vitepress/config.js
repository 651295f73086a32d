import { copyFileSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { shareOf } from '../../bench/tables.js'
import { contributors, guides } from '../guides.js'
import { writeForModels } from '../llms.js'
import { tasks } from '../reference.js'

const { description, repository, version } = JSON.parse(read('package.json'))
const base = '/'
const address = repository?.url.replace(/^git\+|\.git$/g, '')

/** Pages are outside this folder, where no Vue is found; the program that renders them is inside, and finds it. */
const vueIsHere = {
  name: 'vue-is-here',
  enforce: 'pre',
  resolveId: (id, _importer, { ssr }) => (ssr && /^vue($|\/)/.test(id) ? { id, external: true } : undefined),
}

/** Search terms that a guide does not contain. */
const synonyms = { 'docs/lists.md': 'pagination paginate offset', 'docs/options.md': 'authentication bearer' }

export default defineConfig({
  title: 'virtual-accounts',
  description,
  base,
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
    config(md) {
      wrapCode(md)
      labelCells(md)
      drawBars(md)
    },
  },
  themeConfig: {
    logo: '/favicon.svg',
    nav: [
      { text: 'Guides', link: '/docs/getting-started', activeMatch: '/docs/' },
      { text: 'Reference', link: '/api/', activeMatch: '/api/' },
      { text: 'Playground', link: '/playground' },
      { text: 'Demo', link: '/demo/', target: '_self' },
    ],
    sidebar: {
      '/': [...guides, ...contributors].map(sidebarOf),
      '/api/': [{ text: 'Reference', link: '/api/' }, ...tasks],
    },
    outline: [2, 3],
    footer: {
      message: [
        `Version ${version}`,
        `<a href="${base}CHANGELOG.html">Changelog</a>`,
        `<a href="${base}LICENSE.txt" target="_self">MIT licence</a>`,
      ].join(' · '),
    },
    search: {
      provider: 'local',
      options: {
        detailedView: true,
        // What users do not look for: licences, and what contributors read.
        _render: (source, env, md) =>
          isSearched(env.relativePath)
            ? md.render(source, env).replace('</h1>', `</h1> ${synonyms[env.relativePath] ?? ''} `)
            : '',
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
            // The guide about a word first, then the others, then the reference.
            boostDocument: (id, term) => {
              if (!/\/docs\/[^/]*$/.test(id)) return 0.5
              const guides = { mock: 'testing', retry: 'errors', timeout: 'errors', idempotency: 'writes' }
              if (/^(pagination|paginate|offset|filters?|sort)$/.test(term)) guides[term] = 'lists'
              if (/^(baseurl|apikey|onevent|itemkey|onmisseditems|totaltimeout|max[a-z]+)$/.test(term))
                guides[term] = 'options'
              return id.includes(`/docs/${guides[term]}.`) ? 8 : 1
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
    copyFileSync(pathOf('LICENSE'), `${config.outDir}/LICENSE.txt`)
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

function isSearched(page) {
  return (
    /^(site\/)?(docs\/[^/]*|api\/.*|playground|CHANGELOG|examples\/.*)\.md$/.test(page) &&
    !/architecture/.test(page)
  )
}

function sidebarOf({ text, pages }) {
  return { text, items: pages.map(page => ({ text: titleOf(page), link: `/${page}` })) }
}

function titleOf(page) {
  return /^# (.*)$/m.exec(read(`${page}.md`))[1]
}

/** Where inline code may wrap: in paths, variables and long names, not in a short header. Search can't mark code that wraps. */
function wrapCode(md) {
  const render = md.renderer.rules.code_inline
  md.renderer.rules.code_inline = (...given) =>
    render(...given)
      .replace(/(?<=[\w};])\//g, '<wbr>/')
      .replace(/\w{17,}=?|\w=/g, name => name.replace(/[_=]/g, '$&<wbr>'))
      .replace(/\w{21,}/g, name => name.replace(/(?<=[a-z])(?=[A-Z])/g, '<wbr>'))
      .replace(/^<code(?=>[\w-]{1,20}<)/, '<code class="whole"')
}

/** Draws cells of block characters, which benchmarks use on GitHub, as bars. */
function drawBars(md) {
  const render = md.renderer.rules.text
  md.renderer.rules.text = (tokens, at, ...given) => {
    const share = shareOf(tokens[at].content)
    if (share === undefined) return render(tokens, at, ...given)
    return `<i class="bar" style="--part: ${share * 100}%"></i>`
  }
}

/** Where a table does not fit, each cell is a line of its own, and says what its column is. See `.vp-doc table.wide`. */
function labelCells(md) {
  md.renderer.rules.table_open = (tokens, at, options, _env, self) => self.renderToken(tokens, at, options)
  md.core.ruler.push('label-cells', ({ tokens }) => {
    let table
    for (const [at, token] of tokens.entries()) {
      if (token.type === 'table_open') table = { token, titles: [], place: 0 }
      if (token.type === 'th_open') table.titles.push(tokens[at + 1].content)
      // Numbers of named rows are compared, so these stay a table.
      if (token.type === 'thead_close' && table.titles[0] && table.titles.length > 2)
        table.token.attrJoin('class', 'wide')
      // The tables of options line up.
      if (token.type === 'thead_close' && table.titles[1] === 'default')
        table.token.attrJoin('class', 'options')
      if (token.type === 'tr_open') table.place = 0
      if (token.type === 'td_open') {
        token.attrSet('data-label', table.titles[table.place].replaceAll('`', ''))
        table.place++
      }
      // Nothing but a label would stand there.
      if (token.type === 'td_close' && !tokens[at - 1].content) tokens[at - 2].attrJoin('class', 'empty')
    }
  })
}

/** Anchors as GitHub creates them. */
function slugify(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}
