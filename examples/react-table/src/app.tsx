import { useEffect } from 'react'
import type { Accounts } from './accounts.ts'
import { AccountsView } from './accounts-view.tsx'
import { ActivityPanel, Faults } from './aside.tsx'
import type { Backend } from './backend.ts'
import type { Collection } from './collection.ts'
import { EverythingView } from './everything-view.tsx'
import { useMedia, wide } from './media.ts'
import { linkTo, useRoute, type View, views } from './route.ts'
import { TransactionsView } from './transactions-view.tsx'

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
  const { client, activity, faults, description } = backend
  const route = useRoute()
  const { view } = route
  const hasRoom = useMedia(wide)
  useEffect(() => {
    document.title = `${names[view]} · Virtual accounts`
    scrollTo(0, 0)
  }, [view])

  const asideContent = (
    <>
      {faults && <Faults faults={faults} />}
      <ActivityPanel activity={activity} />
    </>
  )
  return (
    <>
      <header className="top">
        <div className="bar">
          <p className="brand">
            <Logo /> Virtual accounts
          </p>
          <nav aria-label="Views">
            {views.map(name => (
              <a
                key={name}
                href={linkTo(name)}
                data-name={names[name]}
                aria-current={name === view ? 'page' : undefined}
              >
                {names[name]}
              </a>
            ))}
          </nav>
          <p className="service">
            {description}
            {isDemo && (
              <>
                {' · '}
                <a href="../">Docs</a>
              </>
            )}
          </p>
        </div>
      </header>
      <div className="columns">
        {!hasRoom && (
          <aside aria-label="Failures and activity">
            <details>
              <summary>{faults ? 'Failures and activity' : 'Client activity'}</summary>
              {asideContent}
            </details>
          </aside>
        )}
        <main tabIndex={-1}>
          {view === 'transactions' && <TransactionsView client={client} route={route} />}
          {view === 'everything' && <EverythingView collection={collection} filter={route.filter} />}
          {view === 'accounts' && <AccountsView accounts={accounts} />}
        </main>
        {hasRoom && <aside aria-label="Failures and activity">{asideContent}</aside>}
      </div>
    </>
  )
}

/** The icon of the page, in the colours of the scheme. */
function Logo() {
  return (
    <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="var(--accent)" />
      <path d="M9 11h14M9 16h14M9 21h8" stroke="var(--on-accent)" strokeWidth="2.6" strokeLinecap="round" />
    </svg>
  )
}
