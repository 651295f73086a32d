/**
 * How tests start Chromium: Debian's without a screen, which takes half as long as the whole browser, or the one that CHROMIUM
 * names. It is root's, and asks nobody.
 */
export const chromiumOptions = {
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
}
