// As jsdom in Vitest 2 and 3: the global AbortController is not that of `fetch` and `Request`, which reject its signals.
class ForeignSignal extends EventTarget {
  aborted = false
  reason = undefined
  throwIfAborted() {
    if (this.aborted) throw this.reason
  }
}

class ForeignController {
  signal = new ForeignSignal()
  abort(reason = new DOMException('This operation was aborted', 'AbortError')) {
    if (this.signal.aborted) return
    Object.assign(this.signal, { aborted: true, reason })
    this.signal.dispatchEvent(new Event('abort'))
  }
}

const isAccepted = signal => {
  try {
    return new Request('https://a.test', { signal }) !== undefined
  } catch {
    return false
  }
}

// Node's `Request` knows the AbortSignal that was there when it was first used.
if (!isAccepted(new AbortController().signal)) throw new Error('the signals of this runtime are rejected')
// ky asks whether there is `AbortSignal.any`.
ForeignSignal.any = AbortSignal.any
Object.assign(globalThis, { AbortController: ForeignController, AbortSignal: ForeignSignal })
if (isAccepted(new AbortController().signal)) throw new Error('foreign signals are accepted')
