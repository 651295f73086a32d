import { type RefObject, useEffect, useLayoutEffect } from 'react'

/**
 * Moves the focus when the element that has it is removed: to what `next` finds, or else to the view. It would otherwise
 * move to the top of the document, and keyboard users would lose their place.
 */
export function useKeepFocus(removed: RefObject<HTMLElement | null>, next = 'main') {
  useLayoutEffect(() => {
    const element = removed.current
    return () => {
      if (!element?.contains(document.activeElement)) return
      // Later, when what replaces it is in the document.
      queueMicrotask(() => {
        const target = document.querySelector<HTMLElement>(next) ?? document.querySelector('main')
        target?.focus({ preventScroll: true })
      })
    }
  }, [removed, next])
}

/**
 * Scrolls to a message that appears out of view, and to each that replaces it: on a phone it may be below an open panel, or
 * above a list.
 *
 * @param since identifies the message, by when it came, say; `false` for one that is not new
 */
export function useReveal(message: RefObject<HTMLElement | null>, since: number | boolean = true) {
  useEffect(() => {
    const element = message.current
    if (!element || since === false) return
    const { top, bottom } = element.getBoundingClientRect()
    const header = document.querySelector('header')?.offsetHeight ?? 0
    if (top >= header && bottom <= innerHeight) return
    const card = element.closest('.card') ?? element
    card.scrollIntoView({ block: 'nearest' })
  }, [message, since])
}
