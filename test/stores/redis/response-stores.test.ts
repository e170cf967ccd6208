// suite: services
/** The Redis stores of responses and items fulfil their contracts, with both clients, in bounds. */
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  bytesScriptRunner,
  type RedisBytesClient,
  type RunBytesScript,
} from '../../../src/stores/redis/binary-client.ts';
import { type RunScript, scriptRunner } from '../../../src/stores/redis/client.ts';
import { redisItemStore, redisResponseIndex } from '../../../src/stores/redis/index.ts';
import { itemStoreOver } from '../../../src/stores/redis/item-store.ts';
import { responseIndexOver } from '../../../src/stores/redis/response-index.ts';
import { itemStoreContract } from '../../../src/testing/contracts/item-store.ts';
import { responseIndexContract } from '../../../src/testing/contracts/response-index.ts';
import type { FakeClock } from '../../../src/testing/fake-clock.ts';
import { describeRedis } from '../../services/redis.ts';
import { clients, newPrefix, type OpenClient, onClock, serverClock } from './clients.ts';

describeRedis('the Redis stores of replies', (server) => {
  describe.each(clients)('the index over %s', (_name, open) => {
    let opened: OpenClient | undefined;
    beforeAll(async () => {
      opened = await open(server().path);
    });
    afterAll(() => opened?.close());
    const run: RunScript = (call, signal) => {
      if (opened === undefined) throw new Error('the client is there in tests only');
      return scriptRunner(opened.client)(call, signal);
    };
    const contract = responseIndexContract(() => {
      const clock = serverClock();
      return { index: responseIndexOver(onClock(run, clock), { prefix: newPrefix() }), clock };
    });
    for (const { name, run: prove } of contract) it(name, prove);

    it('is one for two processes, and leaves no key without a TTL', async () => {
      const prefix = newPrefix();
      const [first, second] = [
        responseIndexOver(run, { prefix }),
        responseIndexOver(run, { prefix }),
      ];
      const expiresAtMs = Date.now() + 60_000;
      const entry = { owner: 'k', account: 'a', modelId: 'm', kind: 'item', expiresAtMs } as const;
      await first.remember([{ ...entry, id: 'msg_1' }]);

      expect(await second.find('k', ['msg_1'])).toEqual([{ ...entry, id: 'msg_1' }]);
      // The entry, and the list of its owner's ids.
      expect(await ttlsOf(server().path, prefix)).toEqual([true, true]);
    });
  });

  describe.each(['node-redis', 'ioredis'] as const)('the item store over %s', (kind) => {
    let client: RedisBytesClient;
    let close: () => void;
    beforeAll(async () => {
      const { path } = server();
      if (kind === 'ioredis') {
        const opened = new Redis(path);
        [client, close] = [opened, () => opened.disconnect()];
        return;
      }
      const opened = createClient({ socket: { path, tls: false } });
      await opened.connect();
      [client, close] = [opened, () => opened.destroy()];
    });
    afterAll(() => close());

    const contract = itemStoreContract(() => {
      const clock = serverClock();
      const run = bytesOnClock(bytesScriptRunner(client), clock);
      return { store: itemStoreOver(run, { prefix: newPrefix() }), clock };
    });
    for (const { name, run: prove } of contract) it(name, prove);

    it('forgets the least recently used items, first of an owner above its share', async () => {
      const clock = serverClock();
      const run = bytesOnClock(bytesScriptRunner(client), clock);
      const store = itemStoreOver(run, { prefix: newPrefix(), maxBytes: 40_000 });
      const put = async (owner: string, id: string): Promise<void> => {
        clock.advance(1);
        await store.put(owner, [{ id, json: new Uint8Array(2_000) }], 60_000);
      };
      await put('quiet', 'q');
      for (const id of ['a', 'b', 'c']) await put('busy', id);
      clock.advance(1);
      await store.get('busy', ['a']);

      await put('busy', 'd');

      // Three fit into the quarter of one owner.
      expect(await kept(store, 'busy', ['a', 'b', 'c', 'd'])).toEqual(['a', 'c', 'd']);
      clock.advance(1);
      expect(await kept(store, 'quiet', ['q'])).toEqual(['q']);
      for (let owner = 0; owner < 12; owner += 1) await put(`k${owner}`, 'x');
      expect(await kept(store, 'quiet', ['q'])).toEqual(['q']);
      expect(await kept(store, 'busy', ['a', 'b', 'c', 'd'])).toEqual([]);
    });

    it('says which items are too large', async () => {
      const store = redisItemStore({ client, prefix: newPrefix(), maxItemBytes: 100 });
      const items = [100, 101].map((bytes) => ({ id: `m${bytes}`, json: new Uint8Array(bytes) }));

      expect(await store.put('k', items, 60_000)).toEqual(['m101']);
      expect(await kept(store, 'k', ['m100', 'm101'])).toEqual(['m100']);
    });

    it('leaves no key without a TTL, and none but counts once all is forgotten', async () => {
      const prefix = newPrefix();
      const store = redisItemStore({ client, prefix });
      await store.put('k', [{ id: 'a', json: new Uint8Array(10) }], 60_000);
      expect(new Set(await ttlsOf(server().path, prefix))).toEqual(new Set([true]));

      await store.forget('k', ['a']);

      expect((await ttlsOf(server().path, prefix)).length).toBeLessThanOrEqual(1);
    });
  });
});

it('wrong options are refused by the name of the store', () => {
  expect(() => redisItemStore({ client: JSON.parse('{}') })).toThrow('redisItemStore');
  expect(() => redisResponseIndex({ client: JSON.parse('{}') })).toThrow('redisResponseIndex');
});

/** As `onClock`, for scripts with binary arguments. */
function bytesOnClock(run: RunBytesScript, clock: FakeClock): RunBytesScript {
  return async (script, key, args, signal) => {
    let reply: unknown;
    const onTime = onClock(async (call) => {
      const time = call.args.slice(0, call.script === script ? 0 : 1);
      reply = await run(call.script, key, [...args, ...time], signal);
    }, clock);
    await onTime({ script, keys: [key], args: [] }, signal);
    return reply;
  };
}

async function kept(
  store: ReturnType<typeof redisItemStore>,
  owner: string,
  ids: readonly string[],
): Promise<readonly string[]> {
  const items = await store.get(owner, ids);
  return ids.filter((_, at) => items[at] !== undefined);
}

/** Whether each key with this prefix has a TTL. */
async function ttlsOf(path: string, prefix: string): Promise<readonly boolean[]> {
  const reader = createClient({ socket: { path, tls: false } });
  await reader.connect();
  try {
    const keys = await reader.keys(`${prefix}:*`);
    return await Promise.all(keys.map(async (key) => (await reader.pTTL(key)) > 0));
  } finally {
    reader.destroy();
  }
}
