/** What the page's Content-Security-Policy kept from happening. Imported first, so that nothing comes before it. */
export const violations = []

document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile }) => {
  violations.push(`${violatedDirective}: ${blockedURI} in ${sourceFile}`)
})
