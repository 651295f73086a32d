import { type Findings, listed } from '../findings.js'
import { documentedFields, isDocumented, type Sample } from '../page.js'
import { describeFields, findLongNumbers } from '../shape.js'

/** What the bodies of all pages show. */
export function checkItems(findings: Findings, sample: Sample): void {
  const { item, envelope, items, problems } = sample
  if (items === 0) {
    findings.notCheckedElse(['items', 'further-fields', 'digits'], 'there was no item on page 1')
    return
  }
  if (problems.size > 0) {
    const consequence = 'Lists can fail with InvalidResponseError, unless a `schema` accepts these items.'
    findings.broken('items', listed(problems, '; '), consequence)
  } else findings.ok('items', `all that were read have ${Object.keys(documentedFields).join(', ')}`)

  const further = describeFields(item, name => !isDocumented(name))
  const ofEnvelope = describeFields(envelope)
  findings.ok(
    'further-fields',
    `${further || 'none'}${ofEnvelope && `; in the envelope: ${ofEnvelope}`}`,
    further && 'Passed through; a `schema` types them.',
  )

  const longInItem = findLongNumbers(item)
  const long = [...longInItem, ...findLongNumbers(envelope).map(path => `${path} of the envelope`)]
  const isCut = item.isSampleCut || envelope.isSampleCut
  const observed = `more than a number can hold: ${listed(long, ', ')}${isCut ? '; not every field was looked at' : ''}`
  const asString = 'Such a number arrives as a string of its digits.'
  if (long.length === 0 && isCut) findings.notChecked('digits', 'not every field was looked at')
  else if (long.length === 0) findings.ok('digits', 'no number loses digits')
  else if (!longInItem.includes('amount')) findings.ok('digits', observed, asString)
  else {
    const consequence = `${asString} As \`amount\` it is an InvalidResponseError, unless a \`schema\` accepts a string.`
    findings.broken('digits', observed, consequence)
  }
}
