// suite: services
/** The Redis stores fulfil the published contracts, with both clients. */
import { afterAll, beforeAll, describe, it } from 'vitest';
import { type RunScript, scriptRunner } from '../../../src/stores/redis/client.ts';
import { idempotencyStoreOver } from '../../../src/stores/redis/idempotency-store.ts';
import { quotaStoreOver } from '../../../src/stores/redis/quota-operations.ts';
import { idempotencyStoreContract } from '../../../src/testing/contracts/idempotency-store.ts';
import { quotaStoreContract } from '../../../src/testing/contracts/quota-store.ts';
import { describeRedis } from '../../services/redis.ts';
import { clients, newPrefix, type OpenClient, onClock, serverClock } from './clients.ts';

describeRedis('the Redis stores', (server) => {
  describe.each(clients)('over %s', (_name, open) => {
    let opened: OpenClient | undefined;
    beforeAll(async () => {
      opened = await open(server().path);
    });
    afterAll(() => opened?.close());
    const run: RunScript = (call, signal) => {
      if (opened === undefined) throw new Error('the client is there in tests only');
      return scriptRunner(opened.client)(call, signal);
    };

    describe('fulfil the quota contract', () => {
      const contract = quotaStoreContract(() => {
        const clock = serverClock();
        const settings = {
          prefix: newPrefix(),
          endedTtlMs: 3_600_000,
          durability: 'replica-async',
        } as const;
        return { store: quotaStoreOver(onClock(run, clock), settings), clock };
      });
      for (const { name, run: prove } of contract) it(name, prove);
    });

    describe('fulfil the idempotency contract', () => {
      const contract = idempotencyStoreContract(() => {
        const clock = serverClock();
        const prefix = newPrefix();
        return { store: idempotencyStoreOver(onClock(run, clock), { prefix }), clock };
      });
      for (const { name, run: prove } of contract) it(name, prove);
    });
  });
});
