import { type RefObject, useEffect } from 'react'

/**
 * Moves the focus if the focused element is removed, to the element that its `data-next` selects or else to the view.
 * Otherwise it would move to the top of the document, and keyboard users would lose their place.
 */
export function keepFocus() {
  let last: HTMLElement | undefined
  addEventListener('focusin', ({ target }) => {
    last = target as HTMLElement
  })
  // Called once the replacement is in the document.
  new MutationObserver(() => {
    if (!last || last.isConnected || document.activeElement !== document.body) return
    const next = document.querySelector<HTMLElement>(last.dataset.next ?? 'main')
    const target = next ?? document.querySelector('main')
    last = undefined
    target?.focus({ preventScroll: true })
  }).observe(document.body, { childList: true, subtree: true })
}

/**
 * Scrolls to a message that appears out of view, and to each replacement. On a phone, it may be above or below a list. Never
 * scrolls away from the switch that caused it.
 *
 * @param since Identifies the message, for example by its time. `false` if it is not new.
 */
export function useReveal(message: RefObject<HTMLElement | null>, since: number | boolean = true) {
  useEffect(() => {
    const element = message.current
    if (!element || since === false || document.activeElement?.closest('aside')) return
    const { top, bottom } = element.getBoundingClientRect()
    const header = document.querySelector('header')?.offsetHeight ?? 0
    if (top >= header && bottom <= innerHeight) return
    const card = element.closest('.card') ?? element
    card.scrollIntoView({ block: 'nearest' })
  }, [message, since])
}
