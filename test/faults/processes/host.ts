/**
 * The host that the rows about processes start, starve, block and kill: a gateway on bare
 * `node:http`. With `workers` it is the primary of a cluster and has the quota store for all.
 */
import cluster from 'node:cluster';
import { createServer, type Server } from 'node:http';
import {
  createGateway,
  type Gateway,
  memoryKeyStore,
  memoryQuotaStore,
  memoryUsageSink,
  staticCatalog,
} from 'tollgate';
import { nodeAdapter } from 'tollgate/node';
import type { QuotaStore } from 'tollgate/ports';
import { z } from 'zod';
import { closed, listening } from '../../support/servers.ts';
import { answerQuota, askingQuotaStore, type Line } from './quota.ts';

const config = z
  .object({
    openaiBaseUrl: z.string(),
    secret: z.string(),
    workers: z.number().default(0),
    ownsBooks: z.boolean().default(true),
    options: z.record(z.string(), z.unknown()).default({}),
  })
  .parse(JSON.parse(process.argv[2] ?? ''));
const order = z.object({ order: z.enum(['count', 'close', 'block']), ms: z.number().default(0) });

const above: Line = {
  send: (message) => process.send?.(message),
  onMessage: (listener) => {
    process.on('message', listener);
  },
};
const subject = { id: 'caller', period: 'total', limitNanos: 1_000_000_000n } as const;

const channel = {
  id: 'first',
  dialect: 'openai',
  baseUrl: config.openaiBaseUrl,
  credential: 'account-secret',
  priority: 0,
  weight: 1,
} as const;
const model = {
  id: 'm',
  vendor: 'Acme',
  protocols: ['chat'],
  groups: ['staff'],
  price: { per: 'token', rates: { input: 1_000_000n, output: 2_000_000n } },
  maxOutputTokens: 100,
} as const;

if (config.workers > 0 && cluster.isPrimary) lead();
else await serve(cluster.isWorker || !config.ownsBooks ? askingQuotaStore(above) : undefined);

function lead(): void {
  const quota = memoryQuotaStore();
  let listeningWorkers = 0;
  cluster.setupPrimary({ serialization: 'advanced' });
  for (let count = 0; count < config.workers; count += 1) {
    const worker = cluster.fork();
    answerQuota(quota, {
      send: (message) => worker.send(message),
      onMessage: (listener) => {
        worker.on('message', listener);
      },
    });
    worker.on('message', (message: unknown) => {
      const { data } = z.object({ origin: z.string() }).safeParse(message);
      if (data === undefined) return;
      listeningWorkers += 1;
      if (listeningWorkers === config.workers) process.send?.(data);
    });
  }
  process.on('message', () => {
    process.send?.({ counts: quota.read(subject.id, '', 'default') });
  });
  process.once('disconnect', () => process.exit());
}

async function serve(quota: QuotaStore = memoryQuotaStore()): Promise<void> {
  const key = { id: subject.id, group: 'staff', disabled: false, quota: [subject] };
  const usage = memoryUsageSink();
  let ids = 0;
  const gateway = createGateway({
    keys: memoryKeyStore({ keys: [{ secret: config.secret, key }] }),
    quota,
    catalog: staticCatalog([{ ...model, channels: [channel] }]),
    usage,
    ids: () => `process-${process.pid}-${String(++ids).padStart(8, '0')}`,
    ...config.options,
  });
  const server = createServer(nodeAdapter(gateway));
  // A caller's connection stays open as long as the test needs.
  server.keepAliveTimeout = 0;
  const origin = await listening(server);
  process.on('message', (message: unknown) => {
    const { data } = order.safeParse(message);
    if (data?.order === 'block') block(data.ms);
    if (data?.order === 'close') void leave(gateway, server);
    if (data?.order === 'count') {
      globalThis.gc?.();
      const state = quota.read(subject.id, '', 'default');
      process.send?.({ counts: { now: countsOf(), state, records: usage.records.length } });
    }
  });
  if (!cluster.isWorker) process.once('disconnect', () => setImmediate(() => process.exit()));
  process.send?.({ origin });
}

/** Without `process.exit`, to prove that nothing keeps the process alive. */
async function leave(gateway: Gateway, server: Server): Promise<void> {
  process.removeAllListeners('disconnect');
  await gateway.close({ drainMs: 1 });
  await closed(server);
  process.disconnect();
}

/** Blocks the event loop for this long. */
function block(ms: number): void {
  process.send?.({ blocked: true }, () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    process.send?.({ unblocked: true });
  });
}

/** The counts that a leak would increase. */
function countsOf(): object {
  const resources: Record<string, number> = {};
  for (const name of process.getActiveResourcesInfo()) {
    resources[name] = (resources[name] ?? 0) + 1;
  }
  const listeners = process
    .eventNames()
    .reduce((sum, name) => sum + process.listenerCount(name), 0);
  return { resources, listeners, heapBytes: process.memoryUsage().heapUsed };
}
