/**
 * Typed client for the virtual accounts and transactions service.
 *
 * @module virtual-accounts
 */
export { Client } from './client.js'
export {
  type AnyApiError,
  ApiError,
  ConnectionError,
  HttpError,
  type Issue,
  isApiError,
  PaginationError,
  ResponseError,
  TimeoutError,
} from './errors.js'
export type { ClientEvent } from './events.js'
export type { List, ListOptions, ListParams, Page } from './list.js'
export type { ClientOptions, Defaults, Fetch } from './options.js'
export type { Query, QueryValue } from './path.js'
export type { CallOptions, Method, Result, WriteOptions } from './request.js'
export type { Transaction, Transactions } from './resources/transactions.js'
export type { VirtualAccountRef, VirtualAccounts } from './resources/virtual-accounts.js'
export type { Output, Schema } from './schema.js'
