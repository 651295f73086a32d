// A program for Node: lists what the service at the given address has.
import { Client } from 'virtual-accounts'

async function main() {
  const client = new Client({ baseUrl: process.argv[2], apiKey: 'test_key' })
  let count = 0
  for await (const _ of client.transactions.list({ limit: 40 })) count++
  console.log(`listed ${count}`)
}

void main()
