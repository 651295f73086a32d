// The guides stand open in the sidebar until a reader closes them. TypeDoc keeps what is open under these names.
const name = 'tsd-accordion-Guides'
try {
  if (localStorage.getItem(name) === null) localStorage.setItem(name, 'true')
} catch {
  // A browser that keeps nothing shows them closed.
}
