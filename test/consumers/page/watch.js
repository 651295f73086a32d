/** What the page's Content-Security-Policy blocked. Imported first, so that nothing runs before it. */
export const violations = []

document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile }) => {
  violations.push(`${violatedDirective}: ${blockedURI} in ${sourceFile}`)
})
