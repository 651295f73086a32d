const width = 80

/** Lines of at most 80 columns, unless a word is longer. */
export function wrap(text: string, start: string): string[] {
  const columns = width - start.length
  const lines = text.match(new RegExp(`\\S.{0,${columns - 1}}(?=\\s|$)|\\S+`, 'g')) ?? ['']
  return lines.map((line, index) => (index === 0 ? start : ' '.repeat(start.length)) + line)
}
