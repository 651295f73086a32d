// Features newer than the browsers of docs/runtimes.md, by MDN's browser-compat-data. The package must not need them.

export const floors = 'Chrome or Edge 120, Firefox 119, Safari 17'

const iterator = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()))

// Without what the client uses only if present (`Error.captureStackTrace`), and what is not a property.
const names = [
  [globalThis, 'AsyncDisposableStack DisposableStack Float16Array Iterator SuppressedError Temporal'],
  [globalThis, 'Scheduler scheduler'],
  [AbortSignal, 'any'],
  [Array, 'fromAsync'],
  [ArrayBuffer.prototype, 'detached maxByteLength resizable resize transfer transferToFixedLength'],
  [Blob.prototype, 'bytes textStream'],
  [DataView.prototype, 'getFloat16 setFloat16'],
  [Error, 'isError'],
  [EventTarget.prototype, 'when'],
  [JSON, 'isRawJSON rawJSON'],
  [Map, 'groupBy'],
  [Map.prototype, 'getOrInsert getOrInsertComputed'],
  [Math, 'f16round sumPrecise'],
  [Object, 'groupBy'],
  [Promise, 'allKeyed allSettledKeyed try withResolvers'],
  [ReadableStream, 'from'],
  [ReadableStream.prototype, 'values'],
  [RegExp, 'escape'],
  [Request.prototype, 'body bytes duplex keepalive textStream'],
  [Response.prototype, 'bytes textStream'],
  [Set.prototype, 'difference intersection isDisjointFrom isSubsetOf isSupersetOf symmetricDifference union'],
  [Uint8Array, 'fromBase64 fromHex'],
  [Uint8Array.prototype, 'setFromBase64 setFromHex toBase64 toHex'],
  [URL, 'parse'],
  [WeakMap.prototype, 'getOrInsert getOrInsertComputed'],
  [
    iterator,
    'chunks drop every filter find flatMap forEach includes join map reduce some take toArray windows',
  ],
].flatMap(([owner, words]) => words.split(' ').map(name => [owner, name]))

/** Pairs of an object and the name of one of its properties. */
export const newer = [
  ...names,
  [ReadableStream.prototype, Symbol.asyncIterator],
  [iterator, Symbol.dispose],
].filter(([owner, name]) => Object.hasOwn(owner, name))
