import { useSyncExternalStore } from 'react'

/** The width at which the panels are beside the view, as in style.css. */
export const wide = '(min-width: 1100px)'

/** The width at which rows become two lines, as in style.css. */
export const narrow = '(max-width: 743px)'

export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    listener => {
      const media = matchMedia(query)
      media.addEventListener('change', listener)
      return () => media.removeEventListener('change', listener)
    },
    () => matchMedia(query).matches,
  )
}
