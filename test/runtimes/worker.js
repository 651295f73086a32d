// Runs the cases in a Worker, and responds with what came of them.

import { Client } from 'virtual-accounts'
import { runCases } from './cases.js'

let shared

export default {
  async fetch(request) {
    const settings = await request.json()
    if (new URL(request.url).pathname === '/shared') return Response.json(await askShared(settings))
    return Response.json(await runCases(settings))
  },
}

/** One client for all requests to the Worker, so one may wait for what another has begun. */
async function askShared({ urls }) {
  const baseUrl = `${urls.service}/shared/list`
  const apiKey = async () => `key-for-${(await fetch(`${urls.service}/key/write`)).status}`
  shared ??= new Client({ baseUrl, apiKey })
  const { totalItems } = await shared.transactions.list()
  return totalItems
}
