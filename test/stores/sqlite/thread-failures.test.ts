// suite: search host
/** Whatever call of a driver fails in a worker, callers learn the truth about what was done. */
import { describe, expect, it } from 'vitest';
import type { QuotaStore } from '../../../src/ports/limits/quota-store.ts';
import { sqliteQuotaStore } from '../../../src/stores/sqlite/index.ts';
import { partition, type Reported, reportedOf, reserve, settle } from './reported-calls.ts';
import { type ThreadScratch, threadScratch } from './threads.ts';

/** Two turns of calls, which the worker gets as two groups. */
async function twoTurns(store: QuotaStore): Promise<ReadonlyMap<string, Reported>> {
  const names = ['a', 'b', 'c'];
  const first = await Promise.all(names.map((name) => reportedOf(reserve(store, name))));
  const second = await Promise.all([
    reportedOf(settle(store, 'a')),
    reportedOf(reserve(store, 'd')),
    reportedOf(settle(store, 'b')),
  ]);
  return new Map<string, Reported>([
    ...names.map((name, index) => [`held ${name}`, first[index] ?? 'unknown'] as const),
    ['settled a', second[0]],
    ['held d', second[1]],
    ['settled b', second[2]],
  ]);
}

/** What the file has, by the same names. */
function factsIn(scratch: ThreadScratch): ReadonlySet<string> {
  const rows = scratch.handle().prepare('SELECT id, state FROM tollgate_hold').all();
  const facts = new Set<string>();
  for (const row of Array.isArray(rows) ? rows : []) {
    const name = String(Reflect.get(row, 'id'))[0];
    // A settlement of a hold that does not exist makes a settled one.
    if (Reflect.get(row, 'state') === 'settled') facts.add(`settled ${name}`);
    facts.add(`held ${name}`);
  }
  return facts;
}

describe('whatever call of the driver fails', () => {
  const kinds = ['exit_before', 'exit_after', 'full', 'io'] as const;

  it.each(kinds)('%s: what was done is there, and what was not done is not', async (as) => {
    const seen = new Set<Reported>();
    let hasFailed = true;
    for (let at = 4; hasFailed; at += 1) {
      const scratch = await threadScratch();
      const client = await scratch.open({ at, as });
      const store = sqliteQuotaStore({ client });
      const calls = await twoTurns(store);
      hasFailed = scratch.hasFailed();
      const facts = factsIn(scratch);
      for (const [name, outcome] of calls) {
        seen.add(outcome);
        const [what, which] = name.split(' ');
        if (outcome === 'done') expect([at, name, facts.has(name)]).toEqual([at, name, true]);
        const isSettled = what === 'held' && calls.get(`settled ${which}`) !== 'not_done';
        if (outcome === 'not_done' && !isSettled) {
          expect([at, name, facts.has(name)]).toEqual([at, name, false]);
        }
      }
      const check = sqliteQuotaStore({ client: scratch.handle() });
      const state = await check.read('alice', '', partition);
      const held = [...facts].filter((fact) => fact.startsWith('held'));
      const settled = [...facts].filter((fact) => fact.startsWith('settled'));
      expect(state?.used ?? 0n).toBe(10n * BigInt(settled.length));
      expect(state?.held ?? 0n).toBe(10n * BigInt(held.length - settled.length));
      await scratch.cleanup();
    }
    expect(seen).toContain('done');
    expect(seen.has('unknown')).toBe(as.startsWith('exit') || as === 'io');
  }, 120_000);
});
