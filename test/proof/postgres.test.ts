// suite: services
/** The quota store of PostgreSQL: the proofs with a controlled clock, and broken connections. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { postgresQuotaStore } from '../../src/stores/postgres/quota-store.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { type ControlledClock, controlClock, migrated } from '../stores/postgres/schema.ts';
import { startCutProxy } from './cut-proxy.ts';
import { type BrokenLine, cutCases } from './cuts.ts';
import { proofMs, proveQuotaStore } from './prove.ts';

const schema = 'held_clock';

describe.skipIf(!hasPostgres())('over PostgreSQL', () => {
  const closers: (() => unknown)[] = [];
  const pools: pg.Pool[] = [];
  let server: PostgresServer;
  let held: ControlledClock;
  let line: BrokenLine;
  let passedMs = 0;

  beforeAll(async () => {
    server = await startPostgres();
    await migrated(server.pool());
    held = await controlClock(await migrated(server.pool(), schema), schema);
    for (let index = 0; index < 3; index += 1) pools.push(server.pool());
    line = await brokenLine();
  });
  afterAll(async () => {
    for (const close of closers.toReversed()) await close();
    await server.stop();
  });

  const brokenLine = async (): Promise<BrokenLine> => {
    const name = '.s.PGSQL.5432';
    const folder = join(server.host, 'proxy');
    await mkdir(folder, { recursive: true });
    const proxy = await startCutProxy({ at: join(folder, name), to: join(server.host, name) });
    const broken = new pg.Pool({ ...server.connection, host: folder, max: 1 });
    broken.on('error', () => {});
    closers.push(proxy.close, () => broken.end());
    return {
      far: postgresQuotaStore({ client: broken }),
      near: postgresQuotaStore({ client: server.pool() }),
      proxy,
      garbage: [
        'HTTP/1.1 400 Bad Request\r\n\r\n',
        'Z\0\0\0\x05I',
        'C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I',
      ].map((text) => Buffer.from(text)),
    };
  };

  const clock = {
    now: () => 1_767_225_600_000 + passedMs,
    advance: async (ms: number) => {
      passedMs += ms;
      await held.advance(ms);
    },
  };
  let made = 0;
  const make = () => {
    const connections = pools.map((client) => postgresQuotaStore({ client, schema }));
    const [store] = connections;
    if (store === undefined) throw new Error('there is no pool');
    // In turn: one process, whose operations go in batches, and several.
    made += 1;
    return { store, clock, connections: made % 2 === 0 ? [store] : connections };
  };
  proveQuotaStore({ name: 'postgres', make }, { sequences: 40, histories: 4 });

  for (const { name, run } of cutCases(() => line)) it(name, run, proofMs);
});
