import './style.css'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Accounts } from './accounts.ts'
import { App } from './app.tsx'
import { connect } from './backend.ts'
import { Collection } from './collection.ts'
import { Problem } from './problem.tsx'

const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // The client has tried again already, and knows better when.
      retry: false,
      // Without a network the client says so, instead of the query waiting for one.
      networkMode: 'always',
      staleTime: 30_000,
      refetchOnWindowFocus: false,
    },
  },
})

const root = createRoot(document.getElementById('root') as HTMLElement)
try {
  const backend = await connect(new URLSearchParams(location.search))
  const collection = new Collection(backend.client)
  const accounts = new Accounts(backend.client)
  root.render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <App backend={backend} collection={collection} accounts={accounts} />
      </QueryClientProvider>
    </StrictMode>,
  )
} catch (error) {
  root.render(
    <main>
      <Problem error={error} at={Date.now()} action="Reload" onAction={() => location.reload()} />
    </main>,
  )
}
