import { type RefObject, useLayoutEffect } from 'react'

/**
 * Keeps whoever works by keyboard in the view when the button just pressed goes away: the focus would otherwise fall to
 * the top of the document.
 */
export function useKeepFocus(gone: RefObject<HTMLElement | null>) {
  useLayoutEffect(() => {
    const element = gone.current
    return () => {
      if (element?.contains(document.activeElement)) document.querySelector('main')?.focus()
    }
  }, [gone])
}
