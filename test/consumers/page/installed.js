// Like bundled.js, but without a bundler: the files are those of the package.
import './watch.js'
import { Client, ConnectionError, HttpError, isApiError } from '/virtual-accounts/index.js'
import { FakeService, sampleTransactions } from '/virtual-accounts/testing.js'
import { main } from './cases.js'

void main({ Client, ConnectionError, HttpError, isApiError, FakeService, sampleTransactions })
