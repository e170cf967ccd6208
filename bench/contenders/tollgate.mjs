/** Tollgate on `node:http` with everything on: key, scan, checks, group, reserve, settle, usage record. */
import { createServer } from 'node:http';
import {
  createGateway,
  memoryKeyStore,
  memoryQuotaStore,
  memoryUsageSink,
  staticCatalog,
} from '../../dist/index.js';
import { nodeAdapter } from '../../dist/node.js';
import { measured } from './measured.mjs';

/** The key every caller of the benchmark has. */
export const secret = 'bench-key-0123456789-0123456789-0123456789';

export function start(upstreamPort, scenario, dialect) {
  const keys = memoryKeyStore();
  keys.add(secret, {
    id: 'bench',
    group: 'bench',
    disabled: false,
    quota: [
      { id: 'bench', period: 'month', limitNanos: 9_000_000_000_000_000n },
      { id: 'group', period: 'month', limitNanos: 9_000_000_000_000_000n },
    ],
  });
  const gateway = createGateway({
    keys,
    quota: memoryQuotaStore(),
    usage: memoryUsageSink({ limit: 1_000 }),
    catalog: staticCatalog([
      {
        id: 'bench-model',
        vendor: 'Bench',
        protocols: ['chat', 'native'],
        groups: ['bench'],
        maxOutputTokens: 4_096,
        price: { per: 'token', inputPerMillionNanos: 100n, outputPerMillionNanos: 200n },
        channels: [
          {
            id: 'bench-channel',
            dialect,
            baseUrl: `http://127.0.0.1:${upstreamPort}${scenario}/v1`,
            credential: 'none',
            upstreamModel: 'gpt-4o',
            priority: 1,
            weight: 1,
          },
        ],
      },
    ]),
  });
  return createServer(nodeAdapter(gateway));
}

measured(start);
