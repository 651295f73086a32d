import { useData, useRoute } from 'vitepress'
import DefaultTheme from 'vitepress/theme-without-fonts'
import { h, nextTick, onMounted, watch } from 'vue'
import NotFound from './NotFound.vue'
import './style.css'
import './reference.css'

/** The search index is large: it loads when somebody is about to search. */
function prefetchIndex({ target }) {
  if (!target.closest?.('#local-search')) return
  void import('@localSearchIndex').then(({ default: index }) => index.root())
}

/** The sidebar of the reference is longer than a window. It scrolls by itself, and not the page with it. */
function showActiveEntry() {
  const sidebar = document.querySelector('.VPSidebar')
  const entry = sidebar?.querySelector('.VPSidebarItem.is-link.is-active')
  if (!entry) return
  const { top, bottom } = entry.getBoundingClientRect()
  if (top < 0 || bottom > innerHeight) sidebar.scrollTop += top - innerHeight / 2
}

const slots = {
  'not-found': () => h(NotFound),
  // Pages with a sidebar have a footer of their own.
  'doc-footer-before': () => h('small', { class: 'vp-doc', innerHTML: useData().theme.value.footer.message }),
}

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, slots),
  setup() {
    const route = useRoute()
    const show = () => nextTick(showActiveEntry)
    onMounted(show)
    watch(() => route.path, show, { flush: 'post' })
  },
  enhanceApp() {
    if (import.meta.env.SSR) return
    for (const event of ['pointerover', 'focusin']) document.addEventListener(event, prefetchIndex)
  },
}
