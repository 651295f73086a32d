import { idOf, indexAfter, key } from '../services.js'

export const packages = ['openai']
export const entry = "export { default } from 'openai'"

export const service = {
  path: '/files',
  start: query => (query.has('after') ? indexAfter(query.get('after')) : 0),
  page: ({ data, more }) => `{"object":"list","data":${data},"has_more":${more}}`,
}

export async function connect({ origin, limit }) {
  const { default: OpenAI } = await import('openai')
  const client = new OpenAI({ baseURL: origin, apiKey: key })
  return {
    async walk(visit) {
      for await (const item of client.files.list({ limit })) visit(item)
    },
    get: () => client.files.retrieve(idOf(1)),
    post: () => client.moderations.create({ input: 'EUR 12.50' }),
  }
}
