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
}

export interface Changes {
  /** Rows are added with the latest dates, removed anywhere or where they are oldest, or stored anew. */
  readonly kinds: readonly ('add' | 'remove' | 'remove the oldest' | 'rewrite')[]
  /** How probable one is before each statement, and after it. */
  readonly chance: number
}

export interface Setup {
  readonly design: Design
  readonly changes: Changes
  readonly seed: string
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
      description text NOT NULL, created_at timestamptz NOT NULL, deleted boolean NOT NULL);
    CREATE INDEX ON transactions (created_at);
  `)
}

/** A list of transactions in PostgreSQL. The same seed gives the same responses to the same requests. */
export class DatabaseService {
  readonly #setup: Setup
  readonly #random: Random
  #added = 0
  #cached = { total: 0, until: 0 }
  #requests = 0

  private constructor(setup: Setup) {
    this.#setup = setup
    this.#random = new Random(`changes ${setup.seed}`)
  }

  static async create(setup: Setup, rows: number): Promise<DatabaseService> {
    const { design } = setup
    const service = new DatabaseService(setup)
    await db.exec(`TRUNCATE transactions; SET enable_bitmapscan = off;
      SET enable_seqscan = ${!design.isIndexed}; SET enable_indexscan = ${design.isIndexed}`)
    // It was filled when the list was as long as a page of it.
    if (design.count === 'cached')
      service.#cached = { total: service.#random.pick([20, 50, 100]), until: cachedFor }
    await service.#add(rows)
    return service
  }

  /** The ids in the order of the list, and their dates. */
  async rows(): Promise<Map<string, Date>> {
    const { rows } = await db.query<{ id: string; created_at: Date }>(
      `SELECT id, created_at FROM transactions WHERE NOT deleted ORDER BY ${this.#setup.design.order}`,
    )
    return new Map(rows.map(row => [row.id, row.created_at]))
  }

  /** Returns whether it was there. */
  async remove(id: string): Promise<boolean> {
    return (await db.query('DELETE FROM transactions WHERE id = $1', [id])).affectedRows === 1
  }

  readonly fetch = async (url: string): Promise<Response> => {
    this.#requests++
    const query = new URL(url).searchParams
    const { limits, count, order, filtersAfterwards, beyond } = this.#setup.design
    const page = Number(query.get('page') ?? 1)
    const asked = limits === 'ignored' ? defaultLimit : Number(query.get('limit') ?? defaultLimit)
    if (asked > maxLimit && limits === 'refused') return Response.json({}, { status: 422 })
    const limit = Math.min(asked, maxLimit)
    const where = filtersAfterwards ? '' : 'WHERE NOT deleted'

    const isCountedFirst = count === 'before the rows' || count === 'cached'
    let total = isCountedFirst ? await this.#count(where) : 0
    const rows = await this.#select<Row>(
      `SELECT *${count === 'with the rows' ? ', count(*) OVER ()::int AS all' : ''}
       FROM transactions ${where} ORDER BY ${order} LIMIT $1 OFFSET $2`,
      [limit, (page - 1) * limit],
    )
    if (count === 'with the rows') total = rows[0]?.all ?? 0
    else if (!isCountedFirst) total = await this.#count(where)

    if (rows.length === 0 && page > 1 && beyond === 404) return Response.json({}, { status: 404 })
    return Response.json({ data: rows.filter(({ deleted }) => !deleted), page, limit, totalItems: total })
  }

  async #count(where: string): Promise<number> {
    if (this.#requests < this.#cached.until) return this.#cached.total
    const most = this.#setup.design.count === 'capped' ? 'LIMIT 150' : ''
    const statement = `SELECT count(*)::int AS all FROM (SELECT FROM transactions ${where} ${most})`
    const [{ all: total } = { all: 0 }] = await this.#select<{ all: number }>(statement)
    if (this.#setup.design.count === 'cached') this.#cached = { total, until: this.#requests + cachedFor }
    return total
  }

  async #select<T>(statement: string, values: unknown[] = []): Promise<T[]> {
    await this.change()
    const { rows } = await db.query<T>(statement, values)
    await this.change()
    return rows
  }

  /** Changes the table, perhaps. */
  async change(chance: number = this.#setup.changes.chance): Promise<void> {
    if (!this.#random.chance(chance)) return
    const kind = this.#random.pick(this.#setup.changes.kinds)
    const count = this.#random.integer(1, 3)
    if (kind === 'add') return this.#add(count)
    const which = kind === 'remove the oldest' ? 'created_at, id' : `md5(id || '${this.#random.fraction()}')`
    const verb =
      kind === 'rewrite' ? 'UPDATE transactions SET amount = amount + 1' : 'DELETE FROM transactions'
    await db.query(`${verb} WHERE id IN (SELECT id FROM transactions ORDER BY ${which} LIMIT ${count})`)
  }

  async #add(count: number): Promise<void> {
    const first = this.#added
    this.#added += count
    const { ties, filtersAfterwards } = this.#setup.design
    await db.query(
      `INSERT INTO transactions SELECT md5($1 || n), n, 'EUR', 'Invoice ' || n,
         timestamptz '2026-01-01' + (n / $2) * interval '1 hour', n % 10 = 3 AND $3
       FROM generate_series($4::int, $5::int) n`,
      [this.#setup.seed, ties, filtersAfterwards, first, first + count - 1],
    )
  }
}
