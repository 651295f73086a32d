import { Client } from 'virtual-accounts'
import { Total } from './total'

/** Nothing says that it is dynamic: Next.js finds out by the first request, which is not cached. */
export default async function Page() {
  const client = new Client({ baseUrl: process.env.SERVICE_URL, apiKey: process.env.API_KEY })
  return <Total page={await client.transactions.list({ limit: 40 })} />
}
