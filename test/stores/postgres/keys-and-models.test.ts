// suite: services
/** Keys and catalogs in PostgreSQL: changed by one process, seen by all, without secrets. */
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { PublishedModel } from '../../../src/catalog/published-models.ts';
import type { GatewayEvent } from '../../../src/events/events.ts';
import {
  postgresCatalog,
  postgresEngine,
  postgresKeyStore,
} from '../../../src/stores/postgres/stores.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import { keyIdCases } from '../id-cases.ts';
import { keyCacheCases } from '../key-cache-cases.ts';
import { removeOwnerAtEveryMoment, removeOwnerMeanwhile } from '../owner-race-cases.ts';
import { migrated } from './schema.ts';

const model: PublishedModel = {
  id: 'gpt-5',
  vendor: 'OpenAI',
  protocols: ['chat'],
  groups: ['staff'],
  price: { per: 'token', rates: { input: 1n, output: 2_500_000_000n } },
  channels: [
    {
      id: 'openai-1',
      dialect: 'openai',
      baseUrl: 'https://api.openai.com/v1',
      credential: { name: 'main' },
      priority: 0,
      weight: 1,
    },
  ],
};

describe.skipIf(!hasPostgres())('PostgreSQL', () => {
  let server: PostgresServer;
  let pool: pg.Pool;

  beforeAll(async () => {
    server = await startPostgres();
    pool = await migrated(server.pool());
  });
  afterAll(() => server.stop());

  keyIdCases(async () => {
    await pool.query('TRUNCATE tollgate.keys');
    return postgresKeyStore({ client: pool });
  });

  keyCacheCases(async () => {
    await pool.query('TRUNCATE tollgate.keys');
    return (options) => postgresKeyStore({ client: pool, ...options });
  });

  it('a key that one process issues and disables is seen by another', async () => {
    const options = { client: pool, cache: false } as const;
    const [one, other] = [postgresKeyStore(options), postgresKeyStore(options)];
    const { secret, key } = await one.issue({ group: 'staff', limitNanos: 5n, period: 'month' });
    expect(await other.find(secret)).toEqual(key);

    expect(await one.update(key.id, { disabled: true })).toBe(true);

    expect(await other.find(secret)).toEqual({ ...key, disabled: true });
    expect(await other.remove(key.id)).toBe(true);
    expect(await one.find(secret)).toBeUndefined();
    expect(await one.remove(key.id)).toBe(false);
    expect(await one.update(key.id, { disabled: false })).toBe(false);
  });

  it('two concurrent changes of one key are both kept', async () => {
    const keys = postgresKeyStore({ client: pool });
    const { secret, key } = await keys.issue({ group: 'staff', limitNanos: 5n });

    await Promise.all([
      keys.update(key.id, { disabled: true }),
      keys.update(key.id, { group: 'trial' }),
      keys.update(key.id, { maxConcurrentCalls: 3 }),
      keys.update(key.id, { metadata: { team: 'a' } }),
    ]);

    expect(await keys.find(secret)).toEqual({
      ...key,
      disabled: true,
      group: 'trial',
      maxConcurrentCalls: 3,
      metadata: { team: 'a' },
    });
  });

  it('no key is given to an owner that is removed meanwhile', async () => {
    await pool.query('TRUNCATE tollgate.keys, tollgate.owners');
    await removeOwnerAtEveryMoment(postgresEngine({ client: pool }));
    await removeOwnerMeanwhile(postgresEngine({ client: pool }));
  });

  it('a taken id or secret and a weak secret are refused with the remedy', async () => {
    const keys = postgresKeyStore({ client: pool });
    const { secret, key } = await keys.issue({ group: 'staff', limitNanos: 5n });

    await expect(keys.add(secret, { ...key, id: 'key_other' })).rejects.toThrow(/is taken/);
    await expect(keys.issue({ id: key.id, group: 'a', limitNanos: 1n })).rejects.toThrow(/taken/);
    await expect(keys.add('password', key)).rejects.toThrow(/could be guessed/);
    expect(() => postgresKeyStore({ client: pool, allowWeakKeys: true })).toThrow(/a pepper/);
  });

  it('keys are listed by group, ordered by id', async () => {
    const keys = postgresKeyStore({ client: pool });
    for (const id of ['key_b', 'key_a', 'key_C']) {
      await keys.issue({ id, group: 'listed', limitNanos: 1n });
    }

    expect((await keys.list('listed')).map(({ id }) => id)).toEqual(['key_C', 'key_a', 'key_b']);
    expect((await keys.list()).length).toBeGreaterThan(3);
    expect(await keys.list('nobody')).toEqual([]);
  });

  it('a version is served here when published, and elsewhere after the next poll', async () => {
    const clock = fakeClock();
    const events: GatewayEvent[] = [];
    const credentials = (name: string): string => `secret-of-${name}`;
    const options = { client: pool, clock, credentials };
    const [one, other] = [
      await postgresCatalog(options),
      await postgresCatalog({ ...options, onEvent: (event) => events.push(event) }),
    ];
    expect(other.find('gpt-5')).toBeUndefined();

    await one.publish([model]);
    clock.advance(2_000);

    expect(one.find('gpt-5')?.channels[0]?.credential).toBe('secret-of-main');
    await vi.waitFor(() => expect(other.find('gpt-5')).toEqual(one.find('gpt-5')));
    expect(events).toEqual([{ type: 'catalog_loaded', source: 'postgresCatalog', models: 1 }]);
    one.close();
    other.close();
  });

  it('two concurrent changes of one channel are both kept', async () => {
    const options = { client: pool, clock: fakeClock(), credentials: () => 'secret' };
    const [one, other] = [await postgresCatalog(options), await postgresCatalog(options)];
    const first = {
      id: 'openai-1',
      dialect: 'openai',
      baseUrl: 'https://a.example/v1',
      weight: 1,
      credential: { name: 'main' },
    } as const;
    const second = { ...first, id: 'openai-2' };
    await one.publish([{ ...model, channels: [first, second] }]);

    const changed = await Promise.all([
      one.changeChannel('openai-1', { weight: 0 }),
      other.changeChannel('openai-2', { priority: 7, cost: { per: 'free' } }),
      one.changeChannel('nothing', { weight: 0 }),
    ]);

    expect(changed).toEqual([['gpt-5'], ['gpt-5'], []]);
    const latest = await postgresCatalog(options);
    expect(latest.find('gpt-5')?.channels).toMatchObject([
      { id: 'openai-1', weight: 0, baseUrl: first.baseUrl, credential: 'secret' },
      { id: 'openai-2', weight: 1, priority: 7, cost: { per: 'free' } },
    ]);
    await expect(one.changeChannel('openai-1', { weight: -1 })).rejects.toThrow(/weight/);
    for (const catalog of [one, other, latest]) catalog.close();
  });

  it('an invalid list is not written, and one that is in the table changes nothing', async () => {
    const clock = fakeClock();
    const events: GatewayEvent[] = [];
    const catalog = await postgresCatalog({
      client: pool,
      clock,
      credentials: () => 'secret',
      onEvent: (event) => events.push(event),
    });
    await catalog.publish([model]);
    const served = catalog.find('gpt-5');
    await expect(catalog.publish([{ ...model, vendor: '' }])).rejects.toThrow(/vendor/);
    await pool.query(`INSERT INTO tollgate.catalogs (models) VALUES ('[{"id":"x"}]')`);

    clock.advance(2_000);

    await vi.waitFor(() => expect(events.at(-1)).toMatchObject({ type: 'catalog_refused' }));
    expect(catalog.find('gpt-5')).toBe(served);
    catalog.close();
  });

  it('keys are listed in pages by id, narrowed by text, group and state', async () => {
    const keys = postgresKeyStore({ client: pool });
    const ids = Array.from({ length: 23 }, (_, index) => `page-${String(index).padStart(2, '0')}`);
    for (const id of ids.toReversed()) await keys.issue({ id, group: 'paged', limitNanos: 1n });
    await keys.update('page-07', { disabled: true });

    const found: string[] = [];
    let after: string | undefined = '';
    while (after !== undefined) {
      const page = await keys.page({ group: 'paged', limit: 10, after });
      expect(page.keys.length).toBeLessThanOrEqual(10);
      found.push(...page.keys.map(({ id }) => id));
      after = page.next;
    }
    const idsOf = async (query: Parameters<typeof keys.page>[0]) =>
      (await keys.page(query)).keys.map(({ id }) => id);

    expect(found).toEqual(ids);
    expect(await idsOf({ group: 'paged', disabled: true })).toEqual(['page-07']);
    expect(await idsOf({ group: 'paged', search: 'AGE-2' })).toEqual([
      'page-20',
      'page-21',
      'page-22',
    ]);
    expect(await idsOf({ search: '%' })).toEqual([]);
    expect(await idsOf({ search: "'; DROP TABLE tollgate.keys; --" })).toEqual([]);
    expect(await keys.get('page-07')).toMatchObject({ id: 'page-07', disabled: true });
  });

  it('no table contains a secret of a key or a channel', async () => {
    const keys = postgresKeyStore({ client: pool, pepper: 'the pepper' });
    const { secret } = await keys.issue({ group: 'staff', limitNanos: 5n });
    const { rows: tables } = await pool.query(
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'tollgate'",
    );

    expect(tables.length).toBeGreaterThan(8);
    for (const { name } of tables) {
      const { rows } = await pool.query(`SELECT t::text AS text FROM tollgate.${name} t`);
      const text = JSON.stringify(rows);
      for (const hidden of [secret, secret.slice(12), 'the pepper', 'secret-of-main']) {
        expect(text).not.toContain(hidden);
      }
    }
  });
});
