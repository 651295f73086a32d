/**
 * Options that start Chromium in tests. The default is Debian's headless shell, which takes half as long as the whole browser.
 * CHROMIUM names another. It may run as root, and sends no requests of its own.
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
