import { idOf, indexAfter, key, limit } from '../services.js'

export const packages = ['@mistralai/mistralai']
export const entry = "export { Mistral } from '@mistralai/mistralai'"

// It validates, so that items must be what its schema of a prompt says.
export const service = {
  path: '/v2/prompts',
  item: index => ({ id: idOf(index), version: index, name: 'EUR' }),
  start: query => (query.has('pageToken') ? indexAfter(query.get('pageToken')) : 0),
  page: ({ data, end, more }) => `{"data":${data}${more ? `,"nextPageToken":"${idOf(end - 1)}"` : ''}}`,
}

export async function connect(origin, { size = limit, ...options } = {}) {
  const { HTTPClient, Mistral } = await import('@mistralai/mistralai')
  const httpClient = options.fetch && new HTTPClient({ fetcher: options.fetch })
  const client = new Mistral({ serverURL: origin, apiKey: key, httpClient })
  return {
    async walk(visit) {
      for await (const { result } of await client.beta.prompts.list({ pageSize: limit })) {
        for (const item of result.data) visit(item)
      }
    },
    get: () => client.beta.prompts.get({ promptId: idOf(1) }),
    post: () => client.beta.prompts.create({ name: 'EUR', definition: { content: '12.50' } }),
    page: () => client.beta.prompts.list({ pageSize: size }),
  }
}
