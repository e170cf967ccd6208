// suite: slow
/** The replies of a removed key are deleted in all stores of a configuration that keep replies. */
import { describe, expect, it } from 'vitest';
import { configForm } from '../../src/command/config/config.ts';
import { gatewayOptions } from '../../src/command/serve/open-gateway.ts';
import type { OpenPostgres, OpenRedis } from '../../src/command/stores/databases.ts';
import { makeStores } from '../../src/command/stores/stores.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

const unused = (): Promise<never> => Promise.reject(new Error('nothing is sent'));
/** The methods of an ioredis that the stores look for. */
const client = { evalsha: unused, eval: unused, callBuffer: unused };
const redis: OpenRedis = {
  ...{ client, prefix: 'tollgate', send: () => Promise.resolve('OK') },
  lostBy: () => undefined,
};
const postgres: OpenPostgres = { client: { query: unused }, schema: 'tollgate' };
const sqlite = { exec: unused, prepare: () => ({ run: unused, all: unused }) };
const databases = { sqlite, kept: sqlite, postgres, redis, close: async () => {} };
const config = { catalog: { models: [] } };

describe('the replies of a removed key', () => {
  it.each([
    { results: 'memory', responseIndex: 'memory', items: 'memory' },
    { results: 'redis', responseIndex: 'memory', items: 'memory' },
    { results: 'memory', responseIndex: 'redis', items: 'memory' },
    { results: 'memory', responseIndex: 'memory', items: 'redis' },
    { results: 'redis', responseIndex: 'redis', items: 'redis' },
    { results: 'postgres', responseIndex: 'postgres', items: 'postgres' },
    { results: 'sqlite', responseIndex: 'sqlite', items: 'sqlite' },
  ] as const)('are forgotten in databases and in memory: %j', (chosen) => {
    const servers = {
      redis: { url: 'redis://localhost' },
      postgres: { url: 'postgres://localhost' },
      sqlite: { path: 'x.db' },
    };
    const stated = { ...config, stores: { ...servers, ...chosen } };
    const whole = configForm.parse(stated);
    const stores = makeStores(whole, databases, fakeClock());
    const { results, responses } = gatewayOptions(whole, stores, () => {});
    const { replyStores } = stores;

    // The gateway must not have a store that the admin library does not know.
    expect(replyStores).toEqual([results, responses?.index, responses?.items]);
    expect(replyStores[0]).toBe(results);
    expect(new Set(replyStores).size).toBe(3);
    for (const store of replyStores) expect(store.forgetOwner).toBeTypeOf('function');
  });
});
