/** Which stores of a configuration forget the replies of a removed key. */
import { describe, expect, it } from 'vitest';
import type { OpenRedis } from '../../src/command/databases.ts';
import { makeStores } from '../../src/command/stores.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

const unused = (): Promise<never> => Promise.reject(new Error('nothing is sent'));
/** An ioredis, as far as the stores look at it. */
const client = { evalsha: unused, eval: unused, callBuffer: unused };
const redis: OpenRedis = { client, prefix: 'tollgate', send: () => Promise.resolve('OK') };
const databases = { sqlite: undefined, postgres: undefined, redis, close: async () => {} };
const config = { catalog: { models: [] } };

describe('the replies of a removed key', () => {
  it.each([
    [{ results: 'memory', responseIndex: 'memory', items: 'memory' }, 0],
    [{ results: 'redis', responseIndex: 'memory', items: 'memory' }, 1],
    [{ results: 'memory', responseIndex: 'redis', items: 'memory' }, 1],
    [{ results: 'memory', responseIndex: 'memory', items: 'redis' }, 1],
    [{ results: 'redis', responseIndex: 'redis', items: 'redis' }, 3],
  ] as const)('are forgotten where they are in Redis: %j', (chosen, count) => {
    const stores = { redis: { url: 'redis://localhost' }, ...chosen };
    const { replyStores } = makeStores({ ...config, stores }, databases, fakeClock());

    expect(replyStores).toHaveLength(count);
    for (const store of replyStores) expect(store.forgetOwner).toBeTypeOf('function');
  });
});
