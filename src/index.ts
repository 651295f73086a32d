/**
 * Typed client for the virtual accounts and transactions service.
 *
 * @module virtual-accounts
 */
export { Client } from './client.js'
export {
  AbortError,
  type AnyApiError,
  ApiError,
  ConnectionError,
  HttpError,
  InvalidResponseError,
  type Issue,
  isApiError,
  PaginationError,
  type PaginationReason,
  TimeoutError,
} from './errors.js'
export type {
  ClientEvent,
  DriftEvent,
  EndEvent,
  FailureEvent,
  IncompleteReason,
  RequestEvent,
  ResponseEvent,
  RetryEvent,
  SuccessEvent,
  WaitEvent,
} from './events.js'
export type { CustomRequestOptions, HttpMethod, Result, WriteOptions } from './http/request.js'
export type { Query } from './internal/url.js'
export type { ClientOptions, Fetch, FetchInit, FetchResponse, RequestOptions } from './options.js'
export type { List, ListOptions, ListParams } from './pagination/list.js'
export type { Batch, Page } from './pagination/page.js'
export type { Transaction, Transactions } from './resources/transactions.js'
export type { VirtualAccountRef, VirtualAccounts } from './resources/virtual-accounts.js'
export type { Schema } from './schema.js'
