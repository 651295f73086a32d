import { Client, type ClientOptions, isApiError, type ListOptions, type ListParams } from 'virtual-accounts'

interface Pending {
  readonly page: number
  readonly resolve: (response: Response) => void
}

/** A service whose every response a test gives by hand, in the order it likes. */
export class ByHand {
  readonly #pending: Pending[] = []
  readonly client: Client
  readonly limit: number

  constructor(limit: number, { onEvent }: Pick<ClientOptions, 'onEvent'> = {}) {
    this.limit = limit
    const fetch = (url: string, { signal }: RequestInit) =>
      new Promise<Response>((resolve, reject) => {
        const request = { page: Number(new URL(url).searchParams.get('page')), resolve }
        this.#pending.push(request)
        signal?.addEventListener('abort', () => {
          const index = this.#pending.indexOf(request)
          if (index >= 0) this.#pending.splice(index, 1)
          reject(signal.reason)
        })
      })
    this.client = new Client({
      baseUrl: 'https://by-hand.test',
      apiKey: 'test_key',
      maxRetries: 0,
      fetch,
      onEvent,
    })
  }

  /** Walks until the end or an error. */
  walk(params: ListParams, options: ListOptions = {}): Walked {
    const walked: Walked = { items: [], ended: Promise.resolve(undefined) }
    const iterate = async () => {
      const list = this.client.transactions.list({ limit: this.limit, ...params }, options as never)
      for await (const { id } of list) walked.items.push(id)
    }
    walked.ended = iterate().then(
      () => undefined,
      (error: unknown) => error,
    )
    return walked
  }

  /** Waits until exactly these pages are requested. */
  async requested(...pages: number[]): Promise<void> {
    const expected = pages.toSorted().join()
    const actual = () =>
      this.#pending
        .map(({ page }) => page)
        .toSorted()
        .join()
    for (let turn = 0; turn < 50 && actual() !== expected; turn++) await settle()
    if (actual() !== expected) throw new Error(`expected pages ${expected} in flight, got ${actual()}`)
  }

  /** Responds to the request for a page, and lets the client react. `ids` is written as `'t1 t2'`. */
  async respond(page: number, ids: string, totalItems: number, limit = this.limit): Promise<void> {
    const data = ids.split(' ').filter(Boolean).map(toItem)
    await this.#settle(page, Response.json({ data, page, totalItems, limit }))
  }

  async fail(page: number, status: number): Promise<void> {
    await this.#settle(page, new Response(null, { status }))
  }

  async #settle(page: number, response: Response): Promise<void> {
    const index = this.#pending.findIndex(request => request.page === page)
    if (index < 0) throw new Error(`page ${page} is not requested`)
    const [request] = this.#pending.splice(index, 1)
    request?.resolve(response)
    await settle()
  }
}

export interface Walked {
  readonly items: string[]
  /** What it throws; undefined when it comes to the end. */
  ended: Promise<unknown>
}

/**
 * What a walk has yielded, and what a new one yields from the page that the error names, once the list has come to
 * rest as `ids` at so many items a page. Without an error: what the walk has yielded.
 */
export async function resumed(walked: Walked, ids: string, limit: number): Promise<string[]> {
  const error = await walked.ended
  if (error === undefined) return walked.items
  if (!isApiError(error)) throw error
  const list = ids.split(' ')
  const fetch = async (url: string) => {
    const page = Number(new URL(url).searchParams.get('page'))
    const data = list.slice((page - 1) * limit, page * limit).map(toItem)
    return Response.json({ data, page, totalItems: list.length, limit })
  }
  const client = new Client({ baseUrl: 'https://by-hand.test', apiKey: 'test_key', fetch })
  const all = new Set(walked.items)
  for await (const { id } of client.transactions.list({ page: error.page, limit })) all.add(id)
  return [...all]
}

function toItem(id: string) {
  return { id, amount: 1, currency: 'EUR', description: '' }
}

function settle(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve))
}
