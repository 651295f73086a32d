// Keeps a copy of all transactions in PostgreSQL. A run adds, replaces and deletes
// rows, all in its last database transaction. Kill it at any time: the next run
// resumes. Rows of items removed meanwhile stay until a later run.
//
//   npm install --no-save pg
//   BASE_URL=https://… API_KEY=… DATABASE_URL=postgres://… \
//     npm run example examples/sync-postgres.js
//
// To start over: DELETE FROM found; DELETE FROM position.

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

// Not JSONB, which refuses some texts, such as '\u0000'.
const columns = '(id TEXT PRIMARY KEY, amount NUMERIC, json JSON)'
await db.query(`
  CREATE TABLE IF NOT EXISTS transactions ${columns};
  CREATE TABLE IF NOT EXISTS found ${columns};
  CREATE TABLE IF NOT EXISTS position (cursor TEXT);
`)
const read = () => db.query('SELECT cursor FROM position')
const replace = `ON CONFLICT (id) DO UPDATE
  SET amount = excluded.amount, json = excluded.json`
const add = `INSERT INTO found SELECT *
  FROM unnest($1::text[], $2::numeric[], $3::json[]) ${replace}`
const save = 'INSERT INTO position VALUES ($1)'
// The next run reads the list from its beginning.
const forget = 'DELETE FROM found; DELETE FROM position; COMMIT'

let last = (await read()).rows[0]?.cursor
async function begin() {
  await db.query('BEGIN; LOCK TABLE position')
  if ((await read()).rows[0]?.cursor !== last) throw new Error('Another run is in progress.')
}

const options = { verified: true, after: last }
const list = client.transactions.list({ limit: 100 }, options)
try {
  for await (const { items, cursor } of list.batches()) {
    await begin()
    await db.query(add, [
      items.map(item => item.id),
      items.map(item => item.amount),
      items.map(item => JSON.stringify(item)),
    ])
    await db.query('DELETE FROM position')
    await db.query(save, [cursor])
    await db.query('COMMIT')
    last = cursor
  }
} catch (error) {
  if (!options.after || error.kind !== 'pagination') throw error
  await begin()
  await db.query(forget)
  throw new Error(`Cannot resume (${error.reason}). Run it again.`)
}
if (!end?.isComplete) throw new Error(`Not complete: ${end?.reason}`)

await begin()
const gone = 'FROM transactions WHERE id NOT IN (SELECT id FROM found)'
const { rows } = await db.query(`
  SELECT (SELECT count(*)::int ${gone}) AS gone, count(*)::int AS before
  FROM transactions`)
// An empty or tiny list is more likely a bug than news.
if (rows[0].gone * 2 > rows[0].before) {
  await db.query(forget)
  const counts = `${rows[0].gone} of ${rows[0].before} rows`
  const advice = 'If that is right, run DELETE FROM transactions.'
  throw new Error(`${counts} are gone from the list, but kept. ${advice}`)
}
await db.query(`
  DELETE ${gone};
  INSERT INTO transactions SELECT * FROM found ${replace};
  ${forget};
`)
const { rowCount } = await db.query('SELECT FROM transactions')
console.log(`${rowCount} transactions`)
await db.end()
