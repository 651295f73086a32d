export { Client } from 'virtual-accounts'
