import { useEffect } from 'react'
import type { Accounts } from './accounts.ts'
import { AccountsView } from './accounts-view.tsx'
import { Aside } from './aside.tsx'
import type { Backend } from './backend.ts'
import type { Collection } from './collection.ts'
import { EverythingView } from './everything-view.tsx'
import logo from './logo.svg'
import { useMedia, wide } from './media.ts'
import { linkTo, useRoute, type View, views } from './route.ts'
import { TransactionsView } from './transactions-view.tsx'
import { Waiting } from './waiting.tsx'

const names: Record<View, string> = {
  transactions: 'Transactions',
  everything: 'All transactions',
  accounts: 'Accounts',
}

/** The documentation site has this page in a folder of its own. */
const isDemo = location.pathname.endsWith('/demo/')

export interface AppProps {
  readonly backend: Backend
  readonly collection: Collection
  readonly accounts: Accounts
}

export function App({ backend, collection, accounts }: AppProps) {
  const { client, activity, description, sample } = backend
  const route = useRoute()
  const { view } = route
  const isWide = useMedia(wide)
  useEffect(() => {
    document.title = `${names[view]} · Virtual accounts`
    scrollTo(0, 0)
  }, [view])

  return (
    <>
      <header className="top">
        <div className="bar">
          <p className="brand">
            <img src={logo} alt="" width="24" height="24" /> Virtual accounts
          </p>
          <nav aria-label="Views">
            {views.map(name => (
              <a key={name} href={linkTo(name)} aria-current={name === view ? 'page' : undefined}>
                {names[name]}
              </a>
            ))}
          </nav>
          <p className="service">
            <span>{description}</span>
            {isDemo && (
              <>
                <span> · </span>
                <a href="../examples/react-table/README.html">Code</a>
                {' · '}
                <a href="../">Docs</a>
              </>
            )}
          </p>
        </div>
        <Waiting activity={activity} />
      </header>
      <div className="columns">
        {!isWide && <Aside backend={backend} isWide={false} />}
        <main tabIndex={-1}>
          {view === 'transactions' && <TransactionsView client={client} route={route} />}
          {view === 'everything' && <EverythingView collection={collection} filter={route.filter} />}
          {view === 'accounts' && <AccountsView accounts={accounts} sample={sample} />}
        </main>
        {isWide && <Aside backend={backend} isWide />}
      </div>
    </>
  )
}
