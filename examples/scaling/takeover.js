import { counted, duration, grouped } from '../terminal.js'

/** @param {Awaited<ReturnType<typeof import('./program.js').takenOver>>} takeover */
export function* takeoverSummary(takeover) {
  if (!takeover) {
    yield 'No worker was killed: the work was done too soon.'
    return
  }
  const { jobs, taken, seconds } = takeover
  if (jobs === 0) yield 'The killed worker had no job at that moment.'
  else if (taken === jobs) {
    yield `✓ ${counted(jobs, 'job')} of the killed worker ${jobs === 1 ? 'was' : 'were'} taken over after ${duration(seconds)}`
  } else
    yield `✗ ${grouped(jobs - taken)} of the ${counted(jobs, 'job')} of the killed worker were not taken over`
}
