// BullMQ, installed here alone. This folder has a package.json of its own because one beside the programs would hide
// from them that `virtual-accounts` is this repository. In a project of yours: npm install bullmq ioredis.

export { FlowProducer, Queue, RateLimitError, UnrecoverableError, Worker } from 'bullmq'
export { Redis } from 'ioredis'
