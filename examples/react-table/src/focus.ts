import { type RefObject, useLayoutEffect } from 'react'

/**
 * Moves the focus to the view when the button that has it is removed. It would otherwise move to the top of the
 * document, and keyboard users would lose their place.
 */
export function useKeepFocus(removed: RefObject<HTMLElement | null>) {
  useLayoutEffect(() => {
    const element = removed.current
    return () => {
      if (element?.contains(document.activeElement))
        document.querySelector('main')?.focus({ preventScroll: true })
    }
  }, [removed])
}
