import { Client } from 'virtual-accounts'

export const dynamic = 'force-dynamic'

export async function GET() {
  const client = new Client({ baseUrl: process.env.SERVICE_URL, apiKey: process.env.API_KEY })
  let count = 0
  for await (const _ of client.transactions.list({ limit: 40 })) count++
  return Response.json({ count })
}
