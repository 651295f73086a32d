import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const proxy = { '/api': process.env.PROXY ?? 'http://127.0.0.1:8788' }

export default defineConfig({
  // The built page works in any folder of a site.
  base: './',
  plugins: [react()],
  resolve: {
    // The package as built here. In your own project, it is an ordinary dependency, and you don't need these lines.
    alias: [
      { find: /^virtual-accounts\/testing$/, replacement: `${repository}dist/testing.js` },
      { find: /^virtual-accounts$/, replacement: `${repository}dist/index.js` },
    ],
  },
  server: { proxy, port: Number(process.env.PORT ?? 5173), fs: { allow: [repository] } },
  preview: { proxy, port: Number(process.env.PORT ?? 4180), strictPort: true },
})
