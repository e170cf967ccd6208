// suite: services
/** The quota store of Redis, over both clients: the proofs, and broken connections. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { type RedisClient, scriptRunner } from '../../src/stores/redis/client.ts';
import { redisQuotaStore } from '../../src/stores/redis/index.ts';
import { quotaStoreOver } from '../../src/stores/redis/quota-operations.ts';
import { describeRedis } from '../services/redis.ts';
import { clients, newPrefix, onClock, serverClock } from '../stores/redis/clients.ts';
import { startCutProxy } from './cut-proxy.ts';
import { type BrokenLine, cutCases } from './cuts.ts';
import { proofMs, proveQuotaStore } from './prove.ts';

describeRedis('over Redis', (server) => {
  describe.each(clients)('with %s', (name, open) => {
    const closers: (() => unknown)[] = [];
    const opened: RedisClient[] = [];
    let line: BrokenLine | undefined;

    const openAt = async (path: string): Promise<RedisClient> => {
      const { client, close } = await open(path);
      closers.push(close);
      return client;
    };
    beforeAll(async () => {
      const to = server().path;
      const at = join(to, `../proxy-${name}.sock`);
      for (let index = 0; index < 3; index += 1) opened.push(await openAt(to));
      const proxy = await startCutProxy({ at, to });
      closers.push(proxy.close);
      const prefix = newPrefix();
      line = {
        far: redisQuotaStore({ client: await openAt(at), prefix }),
        near: redisQuotaStore({ client: await openAt(to), prefix }),
        proxy,
        garbage: [
          '+PONG\r\n',
          ':12\r\n',
          '*1\r\n$4\r\nheld\r\n',
          '$-1\r\n',
          '-WHAT is this\r\n',
          '?\r\n',
        ].map((text) => Buffer.from(text)),
      };
    });
    afterAll(async () => {
      for (const close of closers.toReversed()) await close();
    });

    const make = () => {
      const clock = serverClock();
      const settings = {
        prefix: newPrefix(),
        endedTtlMs: 3_600_000,
        durability: 'replica-async',
      } as const;
      const connections = opened.map((client) =>
        quotaStoreOver(onClock(scriptRunner(client), clock), settings),
      );
      const [store] = connections;
      if (store === undefined) throw new Error('the clients are there in tests only');
      return { store, clock, connections: connections };
    };
    proveQuotaStore({ name: 'redis', make }, { sequences: 60, histories: 4 });

    const cases = cutCases(() => {
      if (line === undefined) throw new Error('the line is there in tests only');
      return line;
    });
    for (const { name: sentence, run } of cases) it(sentence, run, proofMs);
  });
});
