import './watch.js'
import { Client, ConnectionError, HttpError, isApiError } from 'virtual-accounts'
import { FakeService, sampleTransactions } from 'virtual-accounts/testing'
import { main } from './cases.js'

void main({ Client, ConnectionError, HttpError, isApiError, FakeService, sampleTransactions })
