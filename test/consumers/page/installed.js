// As bundled.js, with the files as they are in the package: a page without a bundler.
import './watch.js'
import { Client, ConnectionError, HttpError, isApiError } from '/virtual-accounts/index.js'
import { FakeService, sampleTransactions } from '/virtual-accounts/testing.js'
import { main } from './cases.js'

void main({ Client, ConnectionError, HttpError, isApiError, FakeService, sampleTransactions })
