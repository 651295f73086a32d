import { PGlite } from '@electric-sql/pglite'
import type { Transaction } from 'virtual-accounts'
import { Random } from '../simulation/random.ts'

/** How a team has written its list. */
export interface Design {
  /** Where `totalItems` comes from: a statement of its own, `OVER ()`, a cache, or a statement that counts no further than 150. */
  readonly count: 'after the rows' | 'before the rows' | 'with the rows' | 'cached' | 'capped'
  readonly order: 'created_at, id' | 'created_at DESC, id DESC' | 'created_at'
  /** How many rows have the same date. */
  readonly ties: number
  /** Without an index, PostgreSQL sorts all rows for each page. */
  readonly isIndexed: boolean
  /** Rows that are marked as deleted are counted, and filtered out of the page. */
  readonly filtersAfterwards: boolean
  /** Limits above 100 are lowered or refused; or each page has 20 rows, whatever is asked for. */
  readonly limits: 'lowered' | 'refused' | 'ignored'
  /** Status of a page beyond the end. */
  readonly beyond: 200 | 404
  /** Meanwhile, rows are added with the latest dates, removed anywhere or oldest first, or rewritten. */
  readonly kinds: readonly ('add' | 'add late' | 'remove' | 'remove the oldest' | 'rewrite')[]
  /** How probable that is before each statement, and after it. */
  readonly chance: number
  /** Rows that are added late have their date at once. Their transaction commits up to this many possible changes later. */
  readonly commitsWithin: number
}

type Row = Transaction & { readonly deleted: boolean; readonly all?: number }

const defaultLimit = 20
const maxLimit = 100
/** Requests that a cached count is used for. */
const cachedFor = 20

const db = new PGlite()
export const close = () => db.close()

export async function open(): Promise<void> {
  await db.exec(`
    CREATE TABLE transactions (id text PRIMARY KEY, amount float8 NOT NULL, currency text NOT NULL,
      description text NOT NULL, created_at timestamptz NOT NULL, deleted boolean NOT NULL,
      committed_at int NOT NULL);
    CREATE INDEX ON transactions (created_at);
  `)
}

export type DatabaseService = Awaited<ReturnType<typeof createService>>

/** A list of transactions in PostgreSQL. The same seed gives the same responses to the same requests. */
export async function createService(design: Design, size: number, seed: string) {
  const { count, order, ties, isIndexed, filtersAfterwards, limits, beyond } = design
  const random = new Random(`changes ${seed}`)
  let added = 0
  /** PGlite has one connection, so late commits are simulated. Statements show rows committed up to this time. */
  let time = 0
  const where = () => `WHERE committed_at <= ${time} ${filtersAfterwards ? '' : 'AND NOT deleted'}`
  let requests = 0
  // It was cached when the list had one page.
  let cached = { total: random.pick([20, 50, 100]), until: count === 'cached' ? cachedFor : 0 }

  async function add(number: number, isLate = false): Promise<void> {
    const first = added
    const commit = isLate ? time + random.integer(1, design.commitsWithin) : 0
    added += number
    await db.query(
      `INSERT INTO transactions SELECT md5($1 || n), n, 'EUR', 'Invoice ' || n,
         timestamptz '2026-01-01' + (n / $2) * interval '1 hour', n % 10 = 3 AND $3, $6
       FROM generate_series($4::int, $5::int) n`,
      [seed, ties, filtersAfterwards, first, first + number - 1, commit],
    )
  }

  /** Changes the table, perhaps. */
  async function change(chance: number = design.chance): Promise<void> {
    time++
    if (!random.chance(chance)) return
    const kind = random.pick(design.kinds)
    const number = random.integer(1, 3)
    if (kind === 'add' || kind === 'add late') return add(number, kind === 'add late')
    const which = kind === 'remove the oldest' ? 'created_at, id' : `md5(id || '${random.fraction()}')`
    const verb =
      kind === 'rewrite' ? 'UPDATE transactions SET amount = amount + 1' : 'DELETE FROM transactions'
    await db.query(`${verb} WHERE id IN (SELECT id FROM transactions ORDER BY ${which} LIMIT ${number})`)
  }

  async function select<T>(statement: string, values: unknown[] = []): Promise<T[]> {
    await change()
    const { rows } = await db.query<T>(statement, values)
    await change()
    return rows
  }

  async function countRows(): Promise<number> {
    if (requests < cached.until) return cached.total
    const most = count === 'capped' ? 'LIMIT 150' : ''
    const statement = `SELECT count(*)::int AS all FROM (SELECT FROM transactions ${where()} ${most})`
    const [{ all: total } = { all: 0 }] = await select<{ all: number }>(statement)
    if (count === 'cached') cached = { total, until: requests + cachedFor }
    return total
  }

  async function fetch(url: string): Promise<Response> {
    requests++
    const query = new URL(url).searchParams
    const page = Number(query.get('page') ?? 1)
    const asked = limits === 'ignored' ? defaultLimit : Number(query.get('limit') ?? defaultLimit)
    if (asked > maxLimit && limits === 'refused') return Response.json({}, { status: 422 })
    if (page < 1) return Response.json({}, { status: 400 })
    const limit = Math.min(asked, maxLimit)

    const isCountedFirst = count === 'before the rows' || count === 'cached'
    let total = isCountedFirst ? await countRows() : 0
    const rows = await select<Row>(
      `SELECT *${count === 'with the rows' ? ', count(*) OVER ()::int AS all' : ''}
       FROM transactions ${where()} ORDER BY ${order} LIMIT $1 OFFSET $2`,
      [limit, (page - 1) * limit],
    )
    if (count === 'with the rows') total = rows[0]?.all ?? 0
    else if (!isCountedFirst) total = await countRows()

    if (rows.length === 0 && page > 1 && beyond === 404) return Response.json({}, { status: 404 })
    return Response.json({ data: rows.filter(({ deleted }) => !deleted), page, limit, totalItems: total })
  }

  /** The ids in the order of the list, and their dates. */
  async function rows(): Promise<Map<string, Date>> {
    const { rows } = await db.query<{ id: string; created_at: Date }>(
      `SELECT id, created_at FROM transactions WHERE committed_at <= ${time} AND NOT deleted ORDER BY ${order}`,
    )
    return new Map(rows.map(row => [row.id, row.created_at]))
  }

  /** Every transaction is committed. */
  function commit(): void {
    time += design.commitsWithin
  }

  /** Returns whether it was there. */
  async function remove(id: string): Promise<boolean> {
    return (await db.query('DELETE FROM transactions WHERE id = $1', [id])).affectedRows === 1
  }

  await db.exec(`TRUNCATE transactions; SET enable_bitmapscan = off;
    SET enable_seqscan = ${!isIndexed}; SET enable_indexscan = ${isIndexed}`)
  await add(size)
  return { fetch, rows, change, commit, remove }
}
