import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Accounts } from './accounts.ts'
import { App } from './app.tsx'
import { connect } from './backend.ts'
import { Collection } from './collection.ts'
import { AddressError } from './explain.ts'
import { keepFocus } from './focus.ts'
import { Problem } from './problem.tsx'

const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // The client retries, and explains failures without a network.
      retry: false,
      networkMode: 'always',
      staleTime: 30_000,
      refetchOnWindowFocus: false,
    },
  },
})

keepFocus()
const root = createRoot(document.getElementById('root') as HTMLElement)
try {
  const backend = await connect(new URLSearchParams(location.search))
  const collection = new Collection(backend.client)
  const accounts = await Accounts.open(backend.client)
  root.render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <App backend={backend} collection={collection} accounts={accounts} />
      </QueryClientProvider>
    </StrictMode>,
  )
} catch (error) {
  const [action, onAction] =
    error instanceof AddressError
      ? (['Use the fake service', () => location.assign(location.pathname)] as const)
      : (['Reload', () => location.reload()] as const)
  root.render(
    <main className="columns">
      <Problem error={error} at={Date.now()} action={action} onAction={onAction} />
    </main>,
  )
}
