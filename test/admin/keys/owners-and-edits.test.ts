// suite: slow host
/** Keys are edited, found, sorted and issued in batches; owners are changed, over both stores. */
import Libsql from 'libsql';
import { afterEach, describe, expect, it } from 'vitest';
import { type Admin, isAdminError } from '../../../src/admin/index.ts';
import { memoryKeyStore } from '../../../src/stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../../src/stores/memory/quota-store.ts';
import { migrateSqlite, sqliteKeyStore } from '../../../src/stores/sqlite/index.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { untyped } from '../../stages/ports/failing.ts';
import { type AdminServer, adminServer, adminSetup, changing } from '../admin-host.ts';

const stores = {
  memory: () => memoryKeyStore(),
  SQLite: () => {
    const client = new Libsql(':memory:');
    migrateSqlite(client);
    return sqliteKeyStore({ client });
  },
} as const;

let server: AdminServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function codeOf(failing: Promise<unknown>): Promise<string> {
  const error: unknown = await failing.then(
    () => 'done',
    (thrown: unknown) => thrown,
  );
  return isAdminError(error) ? `${error.code} ${error.field ?? ''}`.trim() : String(error);
}

describe.each(['memory', 'SQLite'] as const)('over %s', (name) => {
  function setup() {
    const clock = fakeClock();
    const keys = stores[name]();
    const quota = memoryQuotaStore({ clock });
    return { ...adminSetup({ clock, keys, quota }), keys, quota };
  }

  it('an edit sets members, removes those that are null, and leaves the others', async () => {
    const { admin, keys, entries } = setup();
    const rates = [{ calls: { perMinute: 5 } }];
    await admin.owners.create('op', { id: 'acme' });
    await admin.keys.issue('op', {
      ...{ id: 'k', group: 'staff', limitNanos: 9n, metadata: { user: 'Ada' } },
      ...{ maxConcurrentCalls: 3 },
    });
    const before = await keys.get('k');

    await admin.keys.edit('op', 'k', { group: 'others', models: ['chat'], rates, owner: 'acme' });
    const set = await keys.get('k');
    await admin.keys.edit('op', 'k', {
      ...{ models: null, rates: null, owner: null, metadata: null, maxConcurrentCalls: null },
    });

    expect(set).toEqual({ ...before, group: 'others', models: ['chat'], rates, owner: 'acme' });
    const { metadata: _m, maxConcurrentCalls: _c, ...rest } = before ?? { id: '' };
    expect(await keys.get('k')).toEqual({ ...rest, group: 'others' });
    expect(entries.at(-2)).toMatchObject({
      action: 'key.edit',
      target: 'k',
      outcome: 'done',
      change: { group: '"staff" → "others"', models: 'null → ["chat"]' },
    });
    expect(entries.at(-1)?.change).toMatchObject({ metadata: '{"user":"Ada"} → null' });
  });

  it.each([
    [{ models: [] }, 'invalid_request models'],
    [{ rates: [{ calls: {} }] }, 'invalid_request rates[0].calls'],
    [{ owner: 'nobody' }, 'invalid_request owner'],
    [{ expiresAtMs: 5 }, 'invalid_request expiresAtMs'],
    [{ limitNanos: 5n }, 'invalid_request limitNanos'],
  ])('an edit that is wrong changes nothing: %o', async (edit, code) => {
    const { admin, keys } = setup();
    await admin.keys.issue('op', { id: 'k', group: 'staff', limitNanos: 9n });
    const before = await keys.get('k');

    const failing = admin.keys.edit('op', 'k', untyped(edit)());

    expect(await codeOf(failing)).toBe(code);
    expect(await keys.get('k')).toEqual(before);
  });

  it('keys are found by owner and by metadata, and sorted by what they have used', async () => {
    const { admin, quota } = setup();
    await admin.owners.create('op', { id: 'Acme' });
    const labels = { one: 'Äda@x', two: 'bob@x', three: 'Äda' };
    for (const [id, user] of Object.entries(labels)) {
      const owner = id === 'two' ? { owner: 'Acme' } : {};
      await admin.keys.issue('op', {
        id,
        group: 'g',
        limitNanos: 9n,
        metadata: { user },
        ...owner,
      });
    }
    const charges = { one: 5n, two: 7n, three: 1n };
    for (const [subject, amount] of Object.entries(charges)) {
      const lines = [{ subject, period: '', amount }];
      const id = `reservation_of_${subject}`;
      await quota.settle({ id, partition: 'default', lines, basis: 'usage' });
    }
    const idsOf = async (query: Parameters<typeof admin.keys.list>[0]) =>
      (await admin.keys.list(query)).data.map(({ id }) => id);

    expect(await idsOf({ search: 'äDA' })).toEqual(['one', 'three']);
    expect(await idsOf({ search: 'acme' })).toEqual(['two']);
    expect(await idsOf({ owner: 'Acme' })).toEqual(['two']);
    expect(await idsOf({ metadata: { user: 'Äda' } })).toEqual(['three']);
    expect(await idsOf({ metadata: { user: 'äda' } })).toEqual([]);
    expect(await idsOf({ sort: 'used' })).toEqual(['two', 'one', 'three']);
    expect(await idsOf({ sort: 'left' })).toEqual(['two', 'one', 'three']);
    expect((await admin.keys.list({ sort: 'used', limit: 2 })).next).toBe('2');
  });

  it('a batch issues its keys once, however often it is sent', async () => {
    const { admin, keys, entries } = setup();
    const rows = Array.from({ length: 70 }, (_, index) => ({
      group: 'staff',
      limitNanos: 1n,
      ...(index === 3 ? { id: 'given' } : {}),
    }));

    const first = await admin.keys.issueBatch('op', 'june', rows);
    await keys.remove('june-2');
    const second = await admin.keys.issueBatch('op', 'june', rows);

    expect([first.issued, first.existed, first.failed]).toEqual([70, 0, 0]);
    expect(first.data.slice(0, 4).map(({ id }) => id)).toEqual([
      ...['june-1', 'june-2', 'june-3', 'given'],
    ]);
    expect(new Set(first.data.map(({ secret }) => secret)).size).toBe(70);
    expect([second.issued, second.existed]).toEqual([1, 69]);
    expect(second.data.filter(({ secret }) => secret !== undefined)).toMatchObject([
      { row: 2, id: 'june-2', outcome: 'issued' },
    ]);
    for (const { secret } of second.data.slice(1, 2)) {
      expect((await keys.find(secret ?? ''))?.id).toBe('june-2');
    }
    const change = { rows: 70, issued: 1, existed: 69, failed: 0 };
    expect(entries.at(-1)).toMatchObject({ action: 'key.batch', target: 'june', change });
  });

  it('a batch with wrong rows issues none, and names each with its field', async () => {
    const { admin, keys } = setup();
    const good = { group: 'staff', limitNanos: 1n } as const;
    const rows = [
      ...[good, { ...good, id: 'a' }, { ...good, limitNanos: -1n }, { ...good, id: 'a' }],
      ...[{ ...good, owner: 'nobody' }, { group: 'staff' }, { ...good, expiresAtMs: 1 }],
    ];

    const error: unknown = await admin.keys.issueBatch('op', 'b', rows).catch((thrown) => thrown);

    const problems = isAdminError(error) ? error.problems : undefined;
    expect(problems?.map(({ row, field }) => [row, field])).toEqual([
      [3, 'limitNanos'],
      [4, 'id'],
      [5, 'owner'],
      [6, 'quota'],
      [7, 'expiresAtMs'],
    ]);
    expect((await keys.page()).keys).toEqual([]);
  });

  it('an owner has one budget for all its keys, which a limit and a top-up change', async () => {
    const { admin, keys } = setup();
    await admin.owners.create('op', { id: 'acme', limitNanos: 10n, period: 'week' });
    const issued = await Promise.all(
      ['a', 'b'].map((id) => admin.keys.issue('op', { id, group: 'staff', owner: 'acme' })),
    );
    for (const { secret } of issued) await keys.find(secret);

    await admin.owners.setLimit('op', 'acme', 20n);
    const topUp = { id: 'invoice-1', amountNanos: 5n };
    const first = await admin.owners.topUp('op', 'acme', topUp);
    const again = await admin.owners.topUp('op', 'acme', topUp);

    for (const { secret } of issued) {
      expect((await keys.find(secret))?.quota).toEqual([
        { id: 'owner.acme', period: 'week', limitNanos: 20n },
      ]);
    }
    expect([first.repeated, again.repeated]).toEqual([false, true]);
    const { balance, keys: ofOwner } = await admin.owners.find('acme');
    expect(balance).toMatchObject({ limitNanos: 25n, remainingNanos: 25n, periodName: '2026-W01' });
    expect(ofOwner.data.map(({ id, balances }) => [id, balances?.[0]?.limitNanos])).toEqual([
      ['a', 25n],
      ['b', 25n],
    ]);
    expect(await codeOf(admin.keys.setLimit('op', 'a', { limitNanos: 1n }))).toContain('not_found');
    expect(await codeOf(admin.owners.remove('op', 'acme'))).toBe('conflict');
  });

  it('keys of a disabled owner are refused until it is enabled', async () => {
    const { admin, keys } = setup();
    await admin.owners.create('op', { id: 'acme' });
    const { secret } = await admin.keys.issue('op', { id: 'a', group: 'staff', owner: 'acme' });

    await admin.owners.edit('op', 'acme', { disabled: true });
    const refused = await keys.find(secret);
    const shown = await admin.keys.find('a');
    await admin.owners.edit('op', 'acme', { disabled: false });

    expect([refused?.disabled, (await keys.find(secret))?.disabled]).toEqual([true, false]);
    expect([shown.disabled, shown.owner?.disabled]).toEqual([false, true]);
  });
});

async function called(admin: Admin, method: string, path: string, body?: unknown) {
  server ??= await adminServer(admin);
  const headers = method === 'POST' ? changing : {};
  const reply = await server.call({ method, path, headers, ...(body ? { body } : {}) });
  return { status: reply.status, json: JSON.parse(reply.text) };
}

describe('over HTTP', () => {
  it('keys, batches and owners have the members that the library has', async () => {
    const { admin } = adminSetup();
    const owner = { id: 'acme', name: 'Acme', limitNanos: '50', period: 'month', anchorDay: 15 };
    const created = await called(admin, 'POST', '/owners', owner);
    const row = { group: 'staff', owner: 'acme', metadata: { user: 'ada' }, models: ['chat'] };
    const batch = await called(admin, 'POST', '/keys/batch', { batch: 'b', keys: [row, row] });
    const rates = [{ tokens: { perDay: 5 } }];
    const edited = await called(admin, 'POST', '/keys/b-1/edit', { rates, models: null });

    expect([created.status, batch.status, edited.status]).toEqual([201, 201, 200]);
    expect(created.json).toMatchObject({ ...owner, balance: { periodName: '2025-12.15' } });
    expect(edited.json).toMatchObject({ rates, models: null, owner: { id: 'acme', name: 'Acme' } });
    for (const query of ['metadata.user=ada&q=B-1', 'metadata[user]=ada&sort=used&limit=1']) {
      const { json } = await called(admin, 'GET', `/keys?${query}`);
      expect(json.data.map(({ id }: { id: string }) => id)).toEqual(['b-1']);
    }
    const { json } = await called(admin, 'GET', '/owners/acme');
    expect(json.keys.data.length).toBe(2);
  });

  it('all wrong rows of a batch are named', async () => {
    const { admin } = adminSetup();
    const keys = [{ group: 'staff', limitNanos: '1' }, { group: '' }, { group: 'a', nothing: 1 }];

    const { status, json } = await called(admin, 'POST', '/keys/batch', { batch: 'b', keys });

    expect(status).toBe(400);
    const { problems } = json.error;
    expect(problems.map(({ row, field }: { row: number; field: string }) => [row, field])).toEqual([
      [2, 'group'],
      [3, 'nothing'],
    ]);
  });

  it('a key store without owners answers not_supported', async () => {
    const { find } = memoryKeyStore();
    const { admin } = adminSetup({ keys: { find } });

    expect(admin.capabilities).toMatchObject({ listOwners: false, changeOwners: false });
    expect((await called(admin, 'GET', '/owners')).status).toBe(501);
    expect((await called(admin, 'POST', '/owners', { id: 'acme' })).status).toBe(501);
  });
});
