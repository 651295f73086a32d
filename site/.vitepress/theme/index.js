import DefaultTheme from 'vitepress/theme-without-fonts'
import './style.css'
import './reference.css'

/** The search index is large: it loads when somebody is about to search. */
function prefetchIndex({ target }) {
  if (!target.closest?.('#local-search')) return
  void import('@localSearchIndex').then(({ default: index }) => index.root())
}

export default {
  extends: DefaultTheme,
  enhanceApp() {
    if (import.meta.env.SSR) return
    for (const event of ['pointerover', 'focusin']) document.addEventListener(event, prefetchIndex)
  },
}
