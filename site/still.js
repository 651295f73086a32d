// Takes the picture of the playground that README.md shows, after `npm run build`:
//
//   npm run still
//   pngquant --force --nofs --ext .png 12 still.png
//   cwebp -lossless -z 9 still.png -o ../docs/media/playground.webp        to a quarter of its size

import { join } from 'node:path'
import { chromium } from 'playwright'
import { serve } from 'vitepress'
import { chromiumOptions } from '../tools/chromium.js'

const { server } = await serve({ root: import.meta.dirname, port: 0 })
const browser = await chromium.launch(chromiumOptions)
const page = await browser.newPage({ viewport: { width: 1000, height: 1400 } })
await page.goto(`http://localhost:${server.address().port}/playground.html`)
await page.getByRole('slider', { name: 'Requests that fail' }).fill('5')

// Chance decides what a round shows. This one has a retry, and items that a loop misses unless it is verified.
const loops = page.locator('.loops')
const status = page.getByRole('status')
do {
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await status.filter({ hasText: 'Verified' }).waitFor()
} while (
  !/Default: complete.* [1-9]\d* missed\. Verified: complete/.test(await status.innerText()) ||
  (await loops.getByText(/^retries[1-9]/).count()) === 0
)
await page.mouse.move(0, 0)
await page.addStyleTag({ content: '.message { min-height: 0 !important }' })
await loops.screenshot({ path: join(import.meta.dirname, 'still.png') })
await browser.close()
process.exit()
