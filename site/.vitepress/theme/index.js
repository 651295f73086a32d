import { useData } from 'vitepress'
import DefaultTheme from 'vitepress/theme-without-fonts'
import { h } from 'vue'
import NotFound from './NotFound.vue'
import './style.css'
import './reference.css'

/** The search index is large: it loads when somebody is about to search. */
function prefetchIndex({ target }) {
  if (!target.closest?.('#local-search')) return
  void import('@localSearchIndex').then(({ default: index }) => index.root())
}

const slots = {
  'not-found': () => h(NotFound),
  // Pages with a sidebar have a footer of their own.
  'doc-footer-before': () => h('small', { class: 'vp-doc', innerHTML: useData().theme.value.footer.message }),
}

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, slots),
  enhanceApp() {
    if (import.meta.env.SSR) return
    for (const event of ['pointerover', 'focusin']) document.addEventListener(event, prefetchIndex)
  },
}
