// suite: slow host
/**
 * Random sequences of operators' changes, concurrent with calls, are compared with a model: the
 * balances and the audit trail agree with it, and refused changes have no effect.
 */
import Libsql from 'libsql';
import { describe, expect, it } from 'vitest';
import type { Admin, AuditEntry } from '../../src/admin/index.ts';
import { isAdminError } from '../../src/admin/index.ts';
import { maxNanos } from '../../src/money.ts';
import { defaultPartition, limitWithExtra } from '../../src/ports/limits/quota-input.ts';
import type { QuotaStore } from '../../src/ports/limits/quota-store.ts';
import { memoryKeyStore } from '../../src/stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { migrateSqlite, sqliteKeyStore, sqliteQuotaStore } from '../../src/stores/sqlite/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { type Draw, drawn } from '../support/seeds.ts';
import { adminSetup } from './admin-host.ts';

/** What the quota store has of a subject. */
interface Row {
  limit: bigint;
  extra: bigint;
  used: bigint;
}

interface Key {
  disabled: boolean;
  /** Another key was issued in its place, without an overlap. */
  isReplaced: boolean;
  /** The limit of each subject in the key's record; undefined if the quota store has it. */
  readonly limits: Map<string, bigint | undefined>;
}

interface Model {
  readonly keys: Map<string, Key>;
  readonly rows: Map<string, Row>;
  readonly topUps: Set<string>;
  /** The expected audit trail: action, target, outcome. */
  readonly trail: string[];
}

interface World {
  readonly admin: Admin;
  readonly quota: QuotaStore;
  readonly entries: readonly AuditEntry[];
  readonly model: Model;
  readonly draw: Draw;
  count: number;
}

const stores = {
  memory: () => {
    const clock = fakeClock();
    return { clock, keys: memoryKeyStore(), quota: memoryQuotaStore({ clock }) };
  },
  SQLite: () => {
    const clock = fakeClock();
    const client = new Libsql(':memory:');
    migrateSqlite(client);
    const keys = sqliteKeyStore({ client });
    return { clock, keys, quota: sqliteQuotaStore({ client, clock }) };
  },
} as const;

describe.each(['memory', 'SQLite'] as const)('over %s', (name) => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('operations agree with the model, seed %d', async (seed) => {
    const { clock, ...ports } = stores[name]();
    const { admin, entries } = adminSetup({ clock, ...ports });
    const model: Model = { keys: new Map(), rows: new Map(), topUps: new Set(), trail: [] };
    const { quota } = ports;
    const world: World = { admin, quota, entries, model, draw: drawn(seed), count: 0 };
    for (let step = 0; step < 60; step += 1) {
      const operations = world.draw(4) === 0 ? several(world) : [anOperation(world)];
      await Promise.all(operations.map((operation) => operation()));
      await checkWorld(world);
    }

    expect(new Set(entries.map(({ outcome }) => outcome))).toEqual(new Set(['done', 'failed']));
    expect([...model.rows.values()].some(({ used }) => used > 0n)).toBe(true);
  });
});

type Operation = () => Promise<void>;

/** Concurrent calls and top-ups of one key: in any order they have the same sum. */
function several(world: World): readonly Operation[] {
  const id = aKey(world);
  const topUpIds = [...'aabb'].map((letter) => `${letter}${world.count}`);
  const subjects = ['team', 'club', id];
  return [
    ...topUpIds.map((topUpId) => () => topUp(world, id, topUpId)),
    ...[1, 2, 3, 4, 5].map(() => () => call(world, id)),
    ...subjects.map((subject) => () => setLimit(world, id, subject)),
  ];
}

function anOperation(world: World): Operation {
  const { draw } = world;
  const id = aKey(world);
  const operations: readonly Operation[] = [
    () => issue(world),
    () => issue(world),
    () => rotate(world, id),
    () => setLimit(world, id, ['team', 'club', id, 'nothing'][draw(4)] ?? id),
    () => refusedLimit(world, id),
    () => topUp(world, id, `t${draw(2)}`),
    () => refusedTopUp(world, id),
    () => switchKey(world, id),
    () => remove(world, id),
    () => call(world, id),
    () => call(world, id),
  ];
  return operations[draw(operations.length)] ?? (() => issue(world));
}

/** One of the keys, or an id without a key. */
function aKey({ model, draw }: World): string {
  const ids = [...model.keys.keys(), 'nobody'];
  return ids[draw(ids.length)] ?? 'nobody';
}

function rowOf({ rows }: Model, subject: string): Row {
  const row = rows.get(subject) ?? { limit: 0n, extra: 0n, used: 0n };
  rows.set(subject, row);
  return row;
}

/** Runs a change, and expects it to be done, or to fail with this code. */
async function change(
  world: World,
  [action, target]: readonly [string, string],
  code: string | undefined,
  run: () => Promise<unknown>,
): Promise<void> {
  world.model.trail.push(`${action} ${target} ${code ?? 'done'}`);
  const failed = await run().then(
    () => undefined,
    (error: unknown) => (isAdminError(error) ? error.code : String(error)),
  );
  expect(failed, `${action} ${target}`).toBe(code);
}

async function issue(world: World): Promise<void> {
  const { admin, model, draw } = world;
  const id = `key${draw(5)}`;
  const isTaken = model.keys.has(id);
  const limitNanos = BigInt(draw(1_000));
  const own = { id, period: 'total', limitNanos } as const;
  const team = { id: 'team', period: 'total' } as const;
  const club = { id: 'club', period: 'total', limitNanos: BigInt(draw(1_000)) } as const;
  const quota = [[own], [own, team], [own, club]][draw(3)] ?? [own];
  await change(world, ['key.issue', id], isTaken ? 'conflict' : undefined, () =>
    admin.keys.issue('ada', { id, group: 'staff', quota }),
  );
  if (isTaken) return;
  const limits = new Map(quota.map((subject) => [subject.id, limitOf(subject)]));
  model.keys.set(id, { disabled: false, isReplaced: false, limits });
}

function limitOf(subject: {
  readonly id: string;
  readonly limitNanos?: bigint;
}): bigint | undefined {
  return subject.limitNanos;
}

async function rotate(world: World, id: string): Promise<void> {
  const { admin, model, draw } = world;
  const newId = `next${draw(4)}`;
  const key = model.keys.get(id);
  const isTaken = model.keys.has(newId);
  const isRefused = isTaken || key?.isReplaced === true;
  const code = key === undefined ? 'not_found' : isRefused ? 'conflict' : undefined;
  await change(world, ['key.rotate', id], code, () => admin.keys.rotate('ada', id, { id: newId }));
  if (key === undefined || isRefused) return;
  key.isReplaced = true;
  model.keys.set(newId, { disabled: key.disabled, isReplaced: false, limits: new Map(key.limits) });
}

async function setLimit(world: World, id: string, subject: string): Promise<void> {
  const { admin, model, draw } = world;
  const key = model.keys.get(id);
  const isCharged = key?.limits.has(subject) === true;
  const limitNanos = BigInt(draw(2_000));
  // Set before the change runs: concurrent operations are on other subjects.
  if (isCharged && key.limits.get(subject) !== undefined) key.limits.set(subject, limitNanos);
  else if (isCharged) rowOf(model, subject).limit = limitNanos;
  await change(world, ['key.limit', id], isCharged ? undefined : 'not_found', () =>
    admin.keys.setLimit('ada', id, { limitNanos, subject }),
  );
}

async function refusedLimit(world: World, id: string): Promise<void> {
  const limitNanos = world.draw(2) === 0 ? -1n : maxNanos + 1n;
  await change(world, ['key.limit', id], 'invalid_request', () =>
    world.admin.keys.setLimit('ada', id, { limitNanos }),
  );
}

async function topUp(world: World, id: string, topUpId: string): Promise<void> {
  const { admin, model, draw } = world;
  const key = model.keys.get(id);
  const amountNanos = BigInt(draw(500)) - 100n;
  const subject = key?.limits.has(id) === true ? id : [...(key?.limits.keys() ?? [])][0];
  const name = `${subject} ${topUpId}`;
  const repeated = model.topUps.has(name);
  if (subject !== undefined && !model.topUps.has(name)) {
    model.topUps.add(name);
    rowOf(model, subject).extra += amountNanos;
  }
  await change(world, ['key.top_up', id], key === undefined ? 'not_found' : undefined, async () => {
    const toppedUp = await admin.keys.topUp('ada', id, { id: topUpId, amountNanos });
    expect(toppedUp.repeated).toBe(repeated);
  });
}

async function refusedTopUp(world: World, id: string): Promise<void> {
  const isKnown = world.model.keys.has(id);
  const [topUpId, subject] = world.draw(2) === 0 ? ['', id] : ['fresh', 'nothing'];
  const code = topUpId === '' ? 'invalid_request' : 'not_found';
  expect(isKnown || code !== undefined).toBe(true);
  await change(world, ['key.top_up', id], code, () =>
    world.admin.keys.topUp('ada', id, { id: topUpId, amountNanos: 5n, subject }),
  );
}

async function switchKey(world: World, id: string): Promise<void> {
  const { admin, model, draw } = world;
  const disabled = draw(2) === 0;
  const key = model.keys.get(id);
  if (key !== undefined) key.disabled = disabled;
  const code = key === undefined ? 'not_found' : undefined;
  const action = disabled ? 'key.disable' : 'key.enable';
  await change(world, [action, id], code, () =>
    disabled ? admin.keys.disable('ada', id) : admin.keys.enable('ada', id),
  );
}

async function remove(world: World, id: string): Promise<void> {
  const isKnown = world.model.keys.delete(id);
  await change(world, ['key.remove', id], isKnown ? undefined : 'not_found', () =>
    world.admin.keys.remove('ada', id),
  );
}

/** A call as the gateway makes it: it holds on every subject of the key, and is charged less. */
async function call(world: World, id: string): Promise<void> {
  const { quota, model, draw } = world;
  const key = model.keys.get(id);
  if (key === undefined) return;
  world.count += 1;
  const amount = BigInt(draw(300));
  const line = (subject: string, limit: bigint | undefined) => ({
    ...{ subject, period: '', amount },
    ...(limit === undefined ? {} : { limit }),
  });
  const lines = [...key.limits].map(([subject, limit]) => line(subject, limit));
  const hold = { id: `reservation-${String(world.count).padStart(8, '0')}` };
  const input = { ...hold, partition: defaultPartition };
  const sorted = lines.toSorted((one, other) => (one.subject < other.subject ? -1 : 1));
  const { status } = await quota.reserve({
    ...{ ...input, lines: sorted, ttlMs: 60_000, onExpire: 'release' },
  });
  if (status !== 'held') return;
  const charged = sorted.map(({ subject, period }) => ({ subject, period, amount: amount / 2n }));
  for (const { subject } of charged) rowOf(model, subject).used += amount / 2n;
  await quota.settle({ ...input, lines: charged, basis: 'usage' });
}

/** Everything that an operator sees is what the model says. */
async function checkWorld({ admin, entries, model }: World): Promise<void> {
  const { data } = await admin.keys.list();
  const shown = data.map(({ id, disabled, balances }) => ({
    ...{ id, disabled },
    balances: balances?.map(({ subject, limitNanos, extraNanos, usedNanos, heldNanos }) => ({
      ...{ subject, limitNanos, extraNanos, usedNanos, heldNanos },
    })),
  }));
  const expected = [...model.keys].sort(([one], [other]) => (one < other ? -1 : 1));
  expect(shown).toEqual(
    expected.map(([id, { disabled, limits }]) => ({
      ...{ id, disabled },
      balances: [...limits].map(([subject, limit]) => {
        const { limit: stored, extra, used } = rowOf(model, subject);
        const limitNanos = limitWithExtra(limit ?? stored, extra);
        return { subject, limitNanos, extraNanos: extra, usedNanos: used, heldNanos: 0n };
      }),
    })),
  );
  expect(
    entries
      .map(({ action, target, outcome, code }) => `${action} ${target} ${code ?? outcome}`)
      .sort(),
  ).toEqual([...model.trail].sort());
}
