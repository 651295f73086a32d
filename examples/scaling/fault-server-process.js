// @ts-check
// The fault server in a process of its own, as a service is. Started by processes.js.

import { sampleTransactions } from 'virtual-accounts/testing'
import { startFaultServer } from './fault-server.js'

const { refused = [], transactions = 0, ...options } = JSON.parse(process.argv[2] ?? '{}')
const server = await startFaultServer({ ...options, transactions: sampleTransactions(transactions) })
for (const path of refused) server.refused.add(path)

process.send?.({ url: server.url, apiKey: server.service.apiKey })
process.on('message', () => process.send?.(server.received()))
process.once('disconnect', () => process.exit())
// Ctrl-C is for the program that started it.
process.on('SIGINT', () => {})
