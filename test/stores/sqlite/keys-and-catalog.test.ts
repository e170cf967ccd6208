// suite: slow host
/** Keys and catalogs in SQLite beyond the contracts: changes, and no stored secrets. */
import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { GatewayEvent } from '../../../src/events/events.ts';
import {
  type PublishedModel,
  sqliteCatalog,
  sqliteKeyStore,
} from '../../../src/stores/sqlite/index.ts';
import { sqliteEngine } from '../../../src/stores/sqlite/stores.ts';
import { fakeClock } from '../../../src/testing/index.ts';
import { keyIdCases } from '../id-cases.ts';
import { keyCacheCases } from '../key-cache-cases.ts';
import { removeOwnerAtEveryMoment } from '../owner-race-cases.ts';
import { fileKinds, type Kind, kinds, type Scratch, scratch } from './handles.ts';

function opened(kind: Kind): Scratch {
  const found = scratch(kind);
  onTestFinished(found.cleanup);
  return found;
}

describe.each(kinds)('sqliteKeyStore over $name', (kind) => {
  keyIdCases(() => sqliteKeyStore({ client: opened(kind).db }));
  keyCacheCases(() => {
    const client = opened(kind).db;
    return (options) => sqliteKeyStore({ client, ...options });
  });

  it('an issued key can be found, disabled, listed by its group, and removed', async () => {
    const keys = sqliteKeyStore({ client: opened(kind).db, pepper: 'a pepper' });
    const chat = await keys.issue({
      group: 'chat',
      limitNanos: 5n,
      period: 'month',
      maxConcurrentCalls: 2,
    });
    const image = await keys.issue({ group: 'image', limitNanos: 7n, metadata: { team: 'ü' } });

    expect(await keys.find(chat.secret)).toEqual(chat.key);
    expect(await keys.list('image')).toEqual([image.key]);
    expect((await keys.list()).map(({ id }) => id)).toEqual([chat.key.id, image.key.id].toSorted());
    expect(await keys.update(chat.key.id, { disabled: true })).toBe(true);
    expect(await keys.find(chat.secret)).toEqual({ ...chat.key, disabled: true });
    expect(await keys.remove(chat.key.id)).toBe(true);
    expect(await keys.find(chat.secret)).toBeUndefined();
    expect(await keys.remove(chat.key.id)).toBe(false);
    expect(await keys.update(chat.key.id, {})).toBe(false);
  });

  it('update can’t change the id of a key', async () => {
    const keys = sqliteKeyStore({ client: opened(kind).db });
    const { secret, key } = await keys.issue({ group: 'chat', limitNanos: 5n });
    const change: { disabled: boolean } = JSON.parse('{ "id": "other", "disabled": true }');

    await keys.update(key.id, change);

    expect(await keys.find(secret)).toEqual({ ...key, disabled: true });
  });

  it('a taken id or secret and a weak secret are refused', async () => {
    const keys = sqliteKeyStore({ client: opened(kind).db });
    const { secret, key } = await keys.issue({ group: 'chat', limitNanos: 5n });

    await expect(keys.add(secret, { ...key, id: 'another' })).rejects.toThrow('is taken');
    await expect(keys.issue({ id: key.id, group: 'chat', limitNanos: 5n })).rejects.toThrow(
      'is taken',
    );
    await expect(keys.add('sesame', { ...key, id: 'another' })).rejects.toThrow('could be guessed');
    expect(await keys.list()).toHaveLength(1);
  });

  it('a damaged record is corrupt, not a key', async () => {
    const { db } = opened(kind);
    const keys = sqliteKeyStore({ client: db });
    const { secret } = await keys.issue({ group: 'chat', limitNanos: 5n });
    for (const record of [
      '{"quota":[{"id":1}]}',
      '{"quota":[],"rates":{}}',
      '{"quota":[],"rates":[{"call":{"perDay":1}}]}',
      '{"quota":[],"rates":[{"calls":{"perDay":0}}]}',
    ]) {
      db.exec(`UPDATE tollgate_key SET record = '${record}'`);

      await expect(keys.find(secret)).rejects.toThrow(
        expect.objectContaining({
          name: 'StoreCorrupt',
          message: expect.stringContaining('record'),
        }),
      );
    }
  });
});

describe.each(fileKinds)('a file of $name', (kind) => {
  it('keeps all concurrent changes of one key', async () => {
    const { db, again } = opened(kind);
    const [here, there] = [sqliteKeyStore({ client: db }), sqliteKeyStore({ client: again() })];
    const { secret, key } = await here.issue({ group: 'staff', limitNanos: 5n });
    const changes = { disabled: true, group: 'trial', maxConcurrentCalls: 3 };

    await Promise.all([
      here.update(key.id, { disabled: true }),
      there.update(key.id, { group: 'trial' }),
      here.update(key.id, { maxConcurrentCalls: 3 }),
    ]);

    expect(await there.find(secret)).toEqual({ ...key, ...changes });
  });

  it('gives no key to an owner that is removed at any moment', async () => {
    await removeOwnerAtEveryMoment(sqliteEngine(opened(kind).db));
  });

  it('contains no secret of a key or an account', async () => {
    const { db, path } = opened(kind);
    const { secret } = await sqliteKeyStore({ client: db }).issue({
      group: 'chat',
      limitNanos: 5n,
    });
    const catalog = await sqliteCatalog({ client: db, credentials: () => 'the-account-secret' });
    onTestFinished(catalog.close);
    await catalog.publish([model('m', { name: 'openai' })]);
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');

    const bytes = readFileSync(path).toString('latin1');

    expect(catalog.find('m')?.channels[0]?.credential).toBe('the-account-secret');
    expect(bytes).toContain('{"name":"openai"}');
    expect(bytes).not.toContain('the-account-secret');
    expect(bytes).not.toContain(secret.slice(12));
  });

  it('is served by another process after its next poll', async () => {
    const { db, again } = opened(kind);
    const clock = fakeClock();
    const events: GatewayEvent[] = [];
    const here = await sqliteCatalog({ client: db, ...known });
    const there = await sqliteCatalog({
      client: again(),
      clock,
      pollMs: 500,
      onEvent: (event) => events.push(event),
      ...known,
    });
    onTestFinished(here.close);
    onTestFinished(there.close);
    expect(there.list('staff', 'chat')).toEqual([]);

    await here.publish([model('one'), model('two')]);
    clock.advance(500);
    await expect.poll(() => events).toHaveLength(1);

    expect(there.list('staff', 'chat').map(({ id }) => id)).toEqual(['one', 'two']);
    expect(events).toEqual([{ type: 'catalog_loaded', source: 'sqliteCatalog', models: 2 }]);
  });
});

describe.each(kinds)('sqliteCatalog over $name', (kind) => {
  it('refuses an invalid version with the path in it, and serves the last valid one', async () => {
    const catalog = await sqliteCatalog({ client: opened(kind).db, ...known });
    onTestFinished(catalog.close);
    await catalog.publish([model('one')]);

    await expect(catalog.publish([model('one'), model('one')])).rejects.toThrow(
      'Model "one": models[1].id: the id or alias "one" is taken',
    );

    expect(catalog.find('one')?.id).toBe('one');
  });

  it('refuses a secret as a credential, and does not repeat it', async () => {
    const { db } = opened(kind);
    const catalog = await sqliteCatalog({ client: db, ...known });
    onTestFinished(catalog.close);
    const secret: { name: string } = JSON.parse('"sk-a-real-secret"');

    const refused = catalog.publish([model('one', secret)]);

    await expect(refused).rejects.toThrow('the database holds no secrets');
    await expect(refused).rejects.not.toThrow('sk-a-real');
    expect(db.prepare('SELECT version FROM tollgate_catalog').all()).toEqual([]);
  });

  it('does not publish a version whose secrets can’t be resolved', async () => {
    const { db } = opened(kind);
    const catalog = await sqliteCatalog({ client: db, credentials: () => '' });
    onTestFinished(catalog.close);

    await expect(catalog.publish([model('one')])).rejects.toThrow(
      'credential.name was not resolved',
    );

    expect(db.prepare('SELECT version FROM tollgate_catalog').all()).toEqual([]);
  });

  it('reports a version with missing secrets once, and serves it when they resolve', async () => {
    const { db } = opened(kind);
    const clock = fakeClock();
    const events: GatewayEvent[] = [];
    let secret = '';
    const catalog = await sqliteCatalog({
      client: db,
      clock,
      credentials: () => secret,
      onEvent: (event) => events.push(event),
    });
    const publisher = await sqliteCatalog({ client: db, ...known });
    onTestFinished(catalog.close);
    onTestFinished(publisher.close);
    await publisher.publish([model('one')]);
    for (let looks = 0; looks < 3; looks += 1) {
      clock.advance(2_000);
      await expect.poll(() => events.length).toBe(1);
    }
    expect(catalog.find('one')).toBeUndefined();

    secret = 'secret';
    clock.advance(2_000);
    await expect.poll(() => catalog.find('one')?.id).toBe('one');

    expect(events.map(({ type }) => type)).toEqual(['catalog_refused', 'catalog_loaded']);
  });
});

const known = { credentials: () => 'secret' };

function model(
  id: string,
  credential: PublishedModel['channels'][number]['credential'] = { name: 'openai' },
): PublishedModel {
  return {
    id,
    vendor: 'OpenAI',
    protocols: ['chat'],
    groups: ['staff'],
    price: {
      per: 'token',
      rates: { input: 1n, output: 9_007_199_254_740_991n },
    },
    channels: [
      {
        id: `account-${id}`,
        dialect: 'openai',
        baseUrl: 'https://api.openai.com/v1',
        credential,
        priority: 1,
        weight: 1,
      },
    ],
  };
}
