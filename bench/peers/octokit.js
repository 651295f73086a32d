import { key, links } from '../services.js'

export const packages = ['@octokit/core', '@octokit/plugin-paginate-rest']
export const entry =
  "export { Octokit } from '@octokit/core'; export { paginateRest } from '@octokit/plugin-paginate-rest'"

export const service = links

export async function connect({ origin, limit }) {
  const { Octokit } = await import('@octokit/core')
  const { paginateRest } = await import('@octokit/plugin-paginate-rest')
  const octokit = new (Octokit.plugin(paginateRest))({ baseUrl: origin, auth: key })
  return {
    async walk(visit) {
      const pages = octokit.paginate.iterator('GET /transactions', { per_page: limit, page: 1 })
      for await (const { data } of pages) for (const item of data) visit(item)
    },
    get: () => octokit.request('GET /transactions/{id}', { id: 't1' }),
    post: () => octokit.request('POST /transactions', { amount: 12.5, currency: 'EUR' }),
  }
}
