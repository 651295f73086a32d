/**
 * Checks of a real service. {@link probe} says whether it works as the client expects. {@link inferSchema} writes a schema of any
 * of its lists.
 *
 * @example
 * ```ts
 * import { probe } from 'virtual-accounts/probe'
 *
 * const report = await probe({ baseUrl: 'https://api.example.com', apiKey: process.env.API_KEY })
 * console.log(String(report))
 * ```
 *
 * @module virtual-accounts/probe
 */

export type { Finding } from './finding.js'
export { type InferSchemaOptions, inferSchema } from './infer-schema.js'
export { type ProbeOptions, probe } from './probe.js'
export type { ProbeReport } from './report.js'
