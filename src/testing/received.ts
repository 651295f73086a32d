/** A request as the {@link FakeService} received it. */
export interface ReceivedRequest {
  /** As sent; fetch puts the usual ones in capitals. */
  method: string
  /** What follows `baseUrl`, without the query. Ids in it are still encoded. */
  path: string
  /** By name. The values of a repeated name are joined by commas. */
  query: Record<string, string>
  /** All of them, the key included. */
  headers: Headers
  /** The JSON value if it is JSON, else the text; `undefined` when empty. */
  body: unknown
}

/** Puts down what came: `path` as the caller cut it, `text` as the caller read it. */
export function received(request: Request, path: string, text: string): ReceivedRequest {
  const { searchParams } = new URL(request.url)
  const names = new Set(searchParams.keys())
  return {
    method: request.method,
    path,
    query: Object.fromEntries(Array.from(names, name => [name, searchParams.getAll(name).join(',')])),
    headers: new Headers(request.headers),
    body: bodyOf(text),
  }
}

function bodyOf(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A path as it stands in a URL, where `é` is `%C3%A9`; a TypeError if it is none. */
export function pathInUrl(path: unknown): string {
  if (typeof path !== 'string' || !/^\/(?!\/)[^?#]*$/.test(path)) {
    throw new TypeError("path: expected what follows baseUrl, from its '/' on, without query and fragment")
  }
  return new URL(`https://any.invalid${path}`).pathname
}
