// suite: slow host
/** The admin library over a SQLite database: keys, money, calls in doubt, reports and channels. */

import Libsql from 'libsql';
import { afterEach, describe, expect, it } from 'vitest';
import { csvLine } from '../../src/admin/csv.ts';
import { adminHandler, createAdmin, isAdminError } from '../../src/admin/index.ts';
import { StoreUnavailable } from '../../src/ports/call-options.ts';
import { memoryItemStore } from '../../src/stores/memory/item-store.ts';
import { memoryKeyStore } from '../../src/stores/memory/key-store.ts';
import { memoryResponseIndex } from '../../src/stores/memory/response-index.ts';
import { memoryResultStore } from '../../src/stores/memory/result-store.ts';
import { migrateSqlite, sqliteCatalog, sqliteKeyStore } from '../../src/stores/sqlite/index.ts';
import { type AdminServer, adminServer, adminSetup, changing } from './admin-host.ts';

let server: AdminServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

const staff = { id: 'ada', group: 'staff', limitNanos: 100n } as const;

function codeOf(run: () => Promise<unknown>): Promise<string> {
  return run().then(
    () => 'done',
    (error: unknown) => (isAdminError(error) ? error.code : 'another error'),
  );
}

describe('keys', () => {
  it('are issued once with their secret, and never shown again', async () => {
    const { admin, keys, entries } = adminSetup();
    server = await adminServer(admin);

    const { secret, key } = await admin.keys.issue('ada', staff);

    expect(keys.find(secret)).toMatchObject({ id: 'ada' });
    const replies = await Promise.all(
      ['/keys', '/keys/ada', '/calls', '/session', '/now'].map((path) => server?.call({ path })),
    );
    expect(JSON.stringify([replies, entries])).not.toContain(secret);
    expect(key.id).toBe('ada');
    expect(await codeOf(() => admin.keys.issue('ada', staff))).toBe('conflict');
    expect(entries.map(({ outcome }) => outcome)).toEqual(['done', 'failed']);
  });

  it('are rotated with an overlap, on the same budget', async () => {
    const { admin, keys, clock } = adminSetup();
    const old = await admin.keys.issue('ada', staff);

    const { secret, key, replaced } = await admin.keys.rotate('ada', 'ada', { overlapMs: 1_000 });

    expect(replaced).toEqual({ id: 'ada', expiresAtMs: clock.now() + 1_000 });
    expect(keys.find(old.secret)).toMatchObject({ expiresAtMs: clock.now() + 1_000 });
    expect(keys.find(secret)).toMatchObject({
      id: key.id,
      responseOwner: 'ada',
      quota: [{ id: 'ada', visible: true, limitNanos: 100n }],
    });
  });

  it('are not rotated once expired, and a replacement has its id in the audit trail', async () => {
    const { admin, entries } = adminSetup();
    await admin.keys.issue('ada', staff);

    const rotations = [1, 2, 3].map(() => codeOf(() => admin.keys.rotate('ada', 'ada')));

    expect(await Promise.all(rotations)).toEqual(['done', 'conflict', 'conflict']);
    const { data } = await admin.keys.list();
    const newId = data.find(({ id }) => id !== 'ada')?.id;
    expect(data).toHaveLength(2);
    expect(entries[1]).toMatchObject({ action: 'key.rotate', change: { newId } });
    for (const id of ['.', '..', '...']) {
      expect(await codeOf(() => admin.keys.issue('ada', { ...staff, id }))).toBe('invalid_request');
    }
  });

  it('are disabled, enabled, limited and removed', async () => {
    const { admin, keys } = adminSetup();
    const { secret } = await admin.keys.issue('ada', staff);

    expect(await admin.keys.disable('ada', 'ada')).toMatchObject({ disabled: true });
    expect(await admin.keys.enable('ada', 'ada')).toMatchObject({ disabled: false });
    const limited = await admin.keys.setLimit('ada', 'ada', { limitNanos: 7n });
    expect(limited.balances).toMatchObject([{ subject: 'ada', limitNanos: 7n, isMain: true }]);
    await admin.keys.remove('ada', 'ada');

    expect(keys.find(secret)).toBeUndefined();
    expect(await codeOf(() => admin.keys.find('ada'))).toBe('not_found');
    expect(await codeOf(() => admin.keys.remove('ada', 'ada'))).toBe('not_found');
  });

  it('are removed with their replies, except those that a rotated key may use', async () => {
    const items = memoryItemStore();
    const index = memoryResponseIndex();
    const results = memoryResultStore();
    const { admin } = adminSetup({ replyStores: [items, index, results, {}] });
    const json = Buffer.from('{}');
    const name = `${'a'.repeat(64)}.${'b'.repeat(36)}`;
    const keep = async (owner: string) => {
      await items.put(owner, [{ id: 'msg_1', json }], 60_000);
      const entry = { account: 'a', modelId: 'm', kind: 'item', expiresAtMs: 9e15 } as const;
      await index.remember([{ ...entry, id: 'msg_1', owner }]);
      await results.put(name, { headers: {}, body: json }, { owner });
    };
    const kept = async (owner: string) => [
      (await items.get(owner, ['msg_1']))[0] !== undefined,
      (await index.find(owner, ['msg_1']))[0] !== undefined,
      (await results.get(name)) !== undefined,
    ];
    await admin.keys.issue('ada', { ...staff, id: 'ada' });
    await keep('ada');
    const { key } = await admin.keys.rotate('ada', 'ada');

    await admin.keys.remove('ada', 'ada');
    expect(await kept('ada')).toEqual([true, true, true]);
    await admin.keys.remove('ada', key.id);
    expect(await kept('ada')).toEqual([false, false, false]);
  });

  it('stay, disabled, if a store of replies fails, and can be removed again', async () => {
    let isDown = true;
    const forgetOwner = (): number => {
      if (isDown) throw new StoreUnavailable('down');
      return 0;
    };
    const { admin, entries } = adminSetup({ replyStores: [{ forgetOwner }] });
    await admin.keys.issue('ada', staff);

    expect(await codeOf(() => admin.keys.remove('ada', 'ada'))).toBe('unavailable');
    expect(await admin.keys.find('ada')).toMatchObject({ disabled: true });
    isDown = false;
    await admin.keys.remove('ada', 'ada');

    expect(await codeOf(() => admin.keys.find('ada'))).toBe('not_found');
    expect(entries.map(({ outcome }) => outcome)).toEqual(['done', 'failed', 'done']);
  });

  it('have their ids in the audit trail, also if the store chose them', async () => {
    const { admin, entries } = adminSetup();

    const { key } = await admin.keys.issue('ada', { group: 'staff', limitNanos: 1n });

    expect(entries).toMatchObject([{ action: 'key.issue', target: key.id }]);
  });

  it('are in the audit trail with their limits and their subjects', async () => {
    const { admin, entries } = adminSetup();
    await admin.keys.issue('ada', {
      ...{ id: 'ada', group: 'staff', limitNanos: 5n, period: 'day' },
      quota: [
        { id: 'company', period: 'month', limitNanos: 99n },
        { id: 'prepaid', period: 'total' },
      ],
      ...{
        expiresAtMs: 4_000_000_000_000,
        maxConcurrentCalls: 2,
        metadata: { note: 'not for it' },
      },
    });

    expect(entries.map(({ change }) => change)).toEqual([
      {
        group: 'staff',
        quota: 'ada day 5, company month 99, prepaid total (limit in the quota store)',
        expiresAtMs: 4_000_000_000_000,
        maxConcurrentCalls: 2,
      },
    ]);
  });

  it.each([
    '',
    '  ',
    undefined,
  ])('are not changed by an actor without a name: %j', async (actor) => {
    const { admin, entries } = adminSetup();
    await admin.keys.issue('ada', staff);
    const nobody = JSON.parse(JSON.stringify({ actor })).actor;

    expect(await codeOf(() => admin.keys.disable(nobody, 'ada'))).toBe('invalid_request');
    expect(await admin.keys.find('ada')).toMatchObject({ disabled: false });
    expect(entries).toHaveLength(1);
  });

  it('are topped up once for each id, and the audit trail says so', async () => {
    const { admin, entries } = adminSetup();
    await admin.keys.issue('ada', staff);
    const topUp = { id: 'invoice/4711 ü', amountNanos: 20n };

    expect(await admin.keys.topUp('ada', 'ada', topUp)).toMatchObject({ repeated: false });
    const again = await admin.keys.topUp('ada', 'ada', { ...topUp, amountNanos: 30n });
    expect(again).toMatchObject({ repeated: true, balances: [{ limitNanos: 120n }] });
    expect(entries.at(-1)).toMatchObject({ change: { repeated: true } });

    const { balances } = await admin.keys.topUp('ada', 'ada', { id: 'other', amountNanos: -5n });
    expect(balances).toMatchObject([{ limitNanos: 115n, extraNanos: 15n, remainingNanos: 115n }]);
  });

  it('are forgotten by the cache of this process when they change', async () => {
    const forgotten: string[] = [];
    const { admin } = adminSetup({ keyCache: { forget: (id) => forgotten.push(id) } });
    await admin.keys.issue('ada', staff);

    await admin.keys.disable('ada', 'ada');
    await admin.keys.setLimit('ada', 'ada', { limitNanos: 1n });
    await admin.keys.remove('ada', 'ada');

    expect(forgotten).toEqual(['ada', 'ada', 'ada']);
  });

  it('of a store that can only find them are refused with a reason', async () => {
    const { find } = memoryKeyStore();
    const { admin, entries } = adminSetup({ keys: { find } });

    expect(await codeOf(() => admin.keys.issue('ada', staff))).toBe('not_supported');
    expect(await codeOf(() => admin.keys.list())).toBe('not_supported');
    expect(await codeOf(() => admin.keys.disable('ada', 'ada'))).toBe('not_supported');
    expect(admin.capabilities).toMatchObject({ issueKeys: false, listKeys: false });
    expect(entries).toMatchObject([{ code: 'not_supported' }, { code: 'not_supported' }]);
  });

  const database = new Libsql(':memory:');
  migrateSqlite(database);
  const stores = {
    memory: memoryKeyStore(),
    SQLite: sqliteKeyStore({ client: database }),
  } as const;

  it.each(['memory', 'SQLite'] as const)('of a store in %s are listed in pages', async (name) => {
    const { admin } = adminSetup({ keys: stores[name] });
    const ids = Array.from({ length: 250 }, (_, index) => `key-${String(index).padStart(3, '0')}`);
    for (const id of ids.toReversed()) await admin.keys.issue('ada', { ...staff, id });
    await admin.keys.disable('ada', 'key-007');

    const found: string[] = [];
    let after: string | undefined = '';
    while (after !== undefined) {
      const page = await admin.keys.list({ after });
      expect(page.data.length).toBeLessThanOrEqual(100);
      found.push(...page.data.map(({ id }) => id));
      after = page.next;
    }

    expect(found).toEqual(ids);
    const disabled = await admin.keys.list({ disabled: true });
    expect(disabled.data.map(({ id }) => id)).toEqual(['key-007']);
    expect((await admin.keys.list({ search: 'EY-24' })).data.length).toBe(10);
    expect((await admin.keys.list({ search: '%' })).data).toEqual([]);
    expect(await codeOf(() => admin.keys.list({ limit: 101 }))).toBe('invalid_request');
  });
});

describe('channels', () => {
  it('are switched in this process', async () => {
    const { admin } = adminSetup();
    const stateOf = () => admin.channels.list()[0]?.channels[0]?.state;

    await admin.channels.disable('ada', 'openai-a');
    expect(stateOf()).toBe('off');
    await admin.channels.enable('ada', 'openai-a');

    expect(stateOf()).toBe('ready');
    expect(await codeOf(() => admin.channels.disable('ada', 'openai-x'))).toBe('not_found');
    expect(await codeOf(() => admin.channels.setWeight('ada', 'openai-a', { weight: 1 }))).toBe(
      'not_supported',
    );
  });

  it('are weighed and priced everywhere by a catalog in a database', async () => {
    const client = new Libsql(':memory:');
    migrateSqlite(client);
    const catalog = await sqliteCatalog({ client, credentials: () => 'secret-of-account' });
    const { admin } = adminSetup({ catalog });
    const credential = { name: 'openai' };
    const channel = {
      id: 'one',
      dialect: 'openai',
      baseUrl: 'https://a.example/v1',
      credential,
    } as const;
    const base = { groups: ['staff'], protocols: ['chat'], price: { per: 'free' } } as const;
    await admin.catalog.publish('ada', [
      { ...base, id: 'small', channels: [{ ...channel, weight: 3 }] },
      { ...base, id: 'large', channels: [{ ...channel, cost: 'reported' }] },
    ]);

    const { before } = await admin.channels.setWeight('ada', 'one', { weight: 0 });
    expect(before).toEqual([
      { modelId: 'small', weight: 3 },
      { modelId: 'large', weight: 1 },
    ]);
    expect(catalog.find('small')?.channels[0]).toMatchObject({ weight: 0 });
    await admin.channels.setWeight('ada', 'one', { weight: 5, modelId: 'small' });
    await admin.channels.setCost('ada', 'one', { cost: { per: 'free' }, modelId: 'small' });
    expect(catalog.find('large')?.channels[0]).toMatchObject({ cost: 'reported' });
    await admin.channels.setCost('ada', 'one', { cost: 'reported' });
    expect(catalog.find('small')?.channels[0]).toMatchObject({ cost: 'reported' });
    await admin.channels.setCost('ada', 'one', { cost: { per: 'free' } });
    await admin.channels.setPriority('ada', 'one', { priority: 2 });

    expect(catalog.find('small')?.channels[0]).toMatchObject({
      weight: 5,
      priority: 2,
      cost: { per: 'free' },
      credential: 'secret-of-account',
      baseUrl: 'https://a.example/v1',
    });
    expect(catalog.find('large')?.channels[0]).toMatchObject({ weight: 0, priority: 2 });
    expect(await codeOf(() => admin.channels.setWeight('ada', 'two', { weight: 1 }))).toBe(
      'not_found',
    );
    expect(await codeOf(() => admin.channels.setWeight('ada', 'one', { weight: -1 }))).toBe(
      'invalid_request',
    );
    catalog.close();
  });
});

describe('a catalog', () => {
  it('is validated without its secrets', async () => {
    const { admin } = adminSetup();
    const channel = { id: 'one', dialect: 'openai', baseUrl: 'https://a.example/v1' };
    const model = { id: 'small', groups: ['staff'], protocols: ['chat'], price: { per: 'free' } };
    const check = (credential: unknown) =>
      admin.catalog.validate(
        JSON.parse(JSON.stringify([{ ...model, channels: [{ ...channel, credential }] }])),
      );

    expect(await check({ env: 'OPENAI_API_KEY' })).toMatchObject({ valid: true, models: 1 });
    const refused = await check('sk-very-secret');
    expect(refused).toMatchObject({ valid: false });
    expect(refused.problem).toContain('models[0].channels[0].credential');
    expect(refused.problem).not.toContain('sk-very-secret');
  });
});

describe('CSV', () => {
  it('has no cell that a spreadsheet runs as a formula', () => {
    for (const start of [...'=+-@\t\r\n＝＋－＠']) {
      expect(csvLine([`${start}1+1`, 'end'])).toMatch(/^"?'/);
    }
    expect(csvLine(['a"b', 'c,d', -5n, undefined, 'plain'])).toBe('"a""b","c,d",-5,,plain\r\n');
  });
});

describe('a host', () => {
  it('learns which option is wrong', () => {
    const { gateway } = adminSetup();
    const keys = memoryKeyStore();

    const without = (): unknown => Reflect.apply(createAdmin, undefined, [{ gateway, keys }]);
    expect(without).toThrow('createAdmin: options.quota');
    const { admin } = adminSetup();
    const open = (): unknown => Reflect.apply(adminHandler, undefined, [admin, { path: '/admin' }]);
    expect(open).toThrow('options.authorize');
    const authorize = () => undefined;
    expect(() => adminHandler(admin, { path: 'admin', authorize })).toThrow('options.path');
  });

  it('gets every reply of a change as JSON with amounts as text', async () => {
    const { admin } = adminSetup();
    server = await adminServer(admin);
    const post = (path: string, body: unknown) =>
      server?.call({ method: 'POST', path, headers: changing, body });

    const issued = await post('/keys', { id: 'ada', group: 'staff', limitNanos: '100' });
    const limited = await post('/keys/ada/limit', { limitNanos: '9007199254740991' });

    expect(JSON.parse(issued?.text ?? '')).toMatchObject({ key: { id: 'ada' } });
    expect(JSON.parse(limited?.text ?? '').balances).toMatchObject([
      { limitNanos: '9007199254740991', usedNanos: '0' },
    ]);
    const unlimited = await post('/keys/ada/limit', { limitNanos: '9999999999999999' });
    expect(unlimited?.status).toBe(400);
  });
});
