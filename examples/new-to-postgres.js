// Adds only new transactions to a table of PostgreSQL, for a list that shows the
// newest first. It commits once, at the end. If it is killed, it saves nothing.
//
//   npm install --no-save pg
//   BASE_URL=https://… API_KEY=… DATABASE_URL=postgres://… \
//     npm run example examples/new-to-postgres.js
//
// To start over: DELETE FROM newest.

import pg from 'pg'
import { Client } from 'virtual-accounts'

const { BASE_URL, API_KEY, DATABASE_URL } = process.env
let end
const onEvent = event => {
  if (event.type === 'end') end = event
}
const client = new Client({ baseUrl: BASE_URL, apiKey: API_KEY, onEvent })
const db = new pg.Client(DATABASE_URL)
await db.connect()

await db.query(`
  CREATE TABLE IF NOT EXISTS news (id TEXT PRIMARY KEY, json JSON);
  CREATE TABLE IF NOT EXISTS newest (cursor TEXT);
  BEGIN;
  LOCK TABLE newest;
`)
const { rows } = await db.query('SELECT cursor FROM newest')
const options = { verified: true, until: rows[0]?.cursor }
const list = client.transactions.list({ limit: 100 }, options)
// By id, because items of earlier runs can come again.
const add = `INSERT INTO news SELECT *
  FROM unnest($1::text[], $2::json[]) ON CONFLICT DO NOTHING`
let newest
let count = 0
for await (const { items, cursor } of list.batches()) {
  newest ??= cursor
  const ids = items.map(item => item.id)
  const { rowCount } = await db.query(add, [ids, items.map(item => JSON.stringify(item))])
  count += rowCount
}
// Thrown before COMMIT, so nothing is saved.
if (!end?.isComplete) throw new Error(`Not complete: ${end?.reason}`)
// If nothing is new, the old cursor stays.
if (newest !== undefined) {
  await db.query('DELETE FROM newest')
  await db.query('INSERT INTO newest VALUES ($1)', [newest])
}
await db.query('COMMIT')
console.log(`${count} new transactions`)
await db.end()
