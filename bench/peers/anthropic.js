import { idOf, indexAfter, key, limit } from '../services.js'

export const packages = ['@anthropic-ai/sdk']
export const entry = "export { default } from '@anthropic-ai/sdk'"

export const service = {
  path: '/v1/models',
  start: query => (query.has('after_id') ? indexAfter(query.get('after_id')) : 0),
  page: ({ data, start, end, more }) =>
    `{"data":${data},"has_more":${more},"first_id":"${idOf(start)}","last_id":"${idOf(end - 1)}"}`,
}

export async function connect(origin) {
  const { default: Anthropic } = await import('@anthropic-ai/sdk')
  const client = new Anthropic({ baseURL: origin, apiKey: key })
  return {
    async walk(visit) {
      for await (const item of client.models.list({ limit })) visit(item)
    },
    get: () => client.models.retrieve(idOf(1)),
    post: () =>
      client.messages.countTokens({ model: 'a', messages: [{ role: 'user', content: 'EUR 12.50' }] }),
  }
}
