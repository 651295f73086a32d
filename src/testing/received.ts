import { describe } from '../internal/describe.js'

/** A request as the {@link FakeService} received it. */
export interface ReceivedRequest {
  /** The HTTP method as sent. `fetch` puts the usual ones in capitals. */
  method: string
  /** The path after `baseUrl`, without the query. Ids in it are still encoded. */
  path: string
  /** The query parameters by name. The values of a repeated name are joined by commas. */
  query: Record<string, string>
  /** All headers, including the API key. */
  headers: Headers
  /** The JSON value of the body, its text if it is not JSON, or `undefined` if it is empty. */
  body: unknown
}

/** A request as data. The caller has already read its `path` and `text`. */
export function toReceivedRequest(request: Request, path: string, text: string): ReceivedRequest {
  const { searchParams } = new URL(request.url)
  const names = new Set(searchParams.keys())
  return {
    method: request.method,
    path,
    query: Object.fromEntries(Array.from(names, name => [name, searchParams.getAll(name).join(',')])),
    headers: new Headers(request.headers),
    body: parseBody(text),
  }
}

function parseBody(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Encodes a path as in a URL, where `é` is `%C3%A9`. Throws if it is not a path. */
export function toUrlPath(path: unknown): string {
  if (typeof path !== 'string' || !/^\/(?!\/)[^?#]*$/.test(path)) {
    const got = typeof path === 'string' ? JSON.stringify(path) : describe(path)
    throw new TypeError(
      `path: expected the path after baseUrl, which starts with one "/" and has no query and no fragment, got ${got}`,
    )
  }
  return new URL(`https://any.invalid${path}`).pathname
}
