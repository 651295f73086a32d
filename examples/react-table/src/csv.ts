import type { Transaction } from 'virtual-accounts'

const rowsPerSlice = 1_000

/** Transactions as a CSV file. It is created in slices, so the page stays responsive. */
export async function csvOf(transactions: readonly Transaction[]): Promise<Blob> {
  // The byte-order mark tells Excel that the file is UTF-8.
  const pieces = [new Blob(['\ufeffid,amount,currency,description\r\n'])]
  for (let first = 0; first < transactions.length; first += rowsPerSlice) {
    pieces.push(new Blob(transactions.slice(first, first + rowsPerSlice).map(row)))
    await new Promise(resolve => setTimeout(resolve))
  }
  return new Blob(pieces, { type: 'text/csv;charset=utf-8' })
}

export function download(file: Blob, name: string) {
  const url = URL.createObjectURL(file)
  const link = Object.assign(document.createElement('a'), { href: url, download: name })
  link.click()
  // Later, because the browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}

function row({ id, amount, currency, description }: Transaction): string {
  return `${[text(id), amount, text(currency), text(description)].join(',')}\r\n`
}

/** Others write the descriptions. An apostrophe keeps a spreadsheet from running one as a formula. */
function text(value: string): string {
  const harmless = /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
