'use client'

/** What it gets has passed through React Server Components: a page must be plain data. */
export function Total({ page }) {
  return <p>{`${page.data.length} of ${page.totalItems}`}</p>
}
