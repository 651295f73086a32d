import { expect, type Page } from '@playwright/test'
import { open, rows, test, throttle } from './page.ts'

// With 100,000 transactions loaded.

async function openLoaded(page: Page) {
  await open(page, 'everything', '?count=100000&latency=0')
  await page.getByRole('button', { name: 'Load all' }).click()
  await expect(page.getByRole('img').nth(1)).toBeVisible({ timeout: 60_000 })
}

test('typing in the filter does not wait for the search', async ({ page }) => {
  await page.clock.install()
  await openLoaded(page)
  const filter = page.getByLabel('Filter what is loaded')
  await filter.pressSequentially('eur')
  await expect(rows(page).first()).toContainText('EUR')
  const found = (await rows(page).first().textContent()) ?? ''
  // The search runs in slices, each of them in a timer.
  await page.clock.pauseAt(Date.now() + 3_600_000)
  await filter.pressSequentially(' 1234')
  await expect(filter).toHaveValue('eur 1234')
  await expect(rows(page).first()).toHaveText(found)

  await page.clock.resume()
  await expect(rows(page).first()).toContainText('1234')
})

test('no frame shows a blank row while scrolling', async ({ page, context }) => {
  await openLoaded(page)
  const scroller = page.getByRole('region', { name: 'All loaded transactions' })
  await scroller.scrollIntoViewIfNeeded()
  // Frames are compared with where the list is: not before what is above it has its place.
  let box = await scroller.boundingBox()
  await expect(async () => {
    const before = box
    await page.waitForTimeout(200)
    box = await scroller.boundingBox()
    expect(box).toEqual(before)
  }).toPass()
  if (!box) throw new Error('The list is not in view')

  const session = await throttle(page)
  const frames: string[] = []
  session.on('Page.screencastFrame', ({ data, sessionId }) => {
    frames.push(data)
    void session.send('Page.screencastFrameAck', { sessionId })
  })
  await session.send('Page.startScreencast', { format: 'png' })
  await page.mouse.move(box.x + 100, box.y + 200)
  for (let turn = 0; turn < 60 || frames.length < 20; turn++) {
    await page.mouse.wheel(0, turn < 30 ? 400 : turn % 2 === 0 ? 20_000 : -10_000)
    await page.waitForTimeout(16)
  }
  await session.send('Page.stopScreencast')
  await session.send('Emulation.setCPUThrottlingRate', { rate: 1 })
  expect(await rows(page).first().getAttribute('aria-rowindex')).not.toBe('2')

  const checker = await context.newPage()
  const gaps = await checker.evaluate(tallestGaps, { frames, box })
  // Text is in every row: where none is over two rows, one is blank.
  expect(Math.max(...gaps), `frames ${gaps}, list at ${JSON.stringify(box)}`).toBeLessThan(2 * 44)
})

/** For each frame, the tallest stretch of the first column without any text, in pixels. */
async function tallestGaps({
  frames,
  box,
}: {
  frames: string[]
  box: { x: number; y: number; height: number }
}) {
  const gaps: number[] = []
  for (const frame of frames) {
    const blob = await (await fetch(`data:image/png;base64,${frame}`)).blob()
    const image = await createImageBitmap(blob)
    const canvas = new OffscreenCanvas(image.width, image.height)
    const context = canvas.getContext('2d', { willReadFrequently: true })
    if (!context) throw new Error('No canvas')
    context.drawImage(image, 0, 0)
    const [left, top] = [Math.round(box.x) + 20, Math.round(box.y) + 40]
    const [width, height] = [120, Math.min(Math.round(box.height), image.height - top) - 40]
    const { data } = context.getImageData(left, top, width, height)
    let [gap, tallest] = [0, 0]
    for (let y = 0; y < height; y++) {
      const line = data.subarray(y * width * 4, (y + 1) * width * 4)
      // Dark pixels are text; the lines between rows are light.
      const hasText = line.some((value, index) => index % 4 === 0 && value < 128)
      gap = hasText ? 0 : gap + 1
      tallest = Math.max(tallest, gap)
    }
    gaps.push(tallest)
  }
  return gaps
}
