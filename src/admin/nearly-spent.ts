/**
 * Keys that have used nearly all of their limit, found in the balances. Each search reads the next
 * page of keys, and the keys that are known or likely to be nearly spent, so that its work is
 * bounded however many keys there are.
 */
import type { ApiKey } from '../ports/key-store.ts';
import { defaultPartition } from '../ports/quota-input.ts';
import type { QuotaStore } from '../ports/quota-store.ts';
import { type AdminDeps, given } from './deps.ts';
import { balancesOf, type KeyBalance } from './key-summary.ts';
import { setBounded } from './live.ts';

/** A subject that has used or holds at least 90 % of its limit. */
export interface NearlySpent {
  readonly keyId: string;
  readonly subject: string;
  readonly percent: number;
  /** When this process found it, in Unix ms. */
  readonly sinceMs: number;
}

const fromPercent = 90;
const searchEveryMs = 10_000;
const pageSize = 100;
const maxSuspects = 50;
const maxFound = 64;

interface SearchState {
  readonly found: Map<string, NearlySpent>;
  after: string | undefined;
}

/** Searches when it is called, at most every 10 s; the most spent come first. Never rejects. */
export function nearlySpentKeys(deps: AdminDeps): () => Promise<readonly NearlySpent[]> {
  const state: SearchState = { found: new Map(), after: undefined };
  let last: { readonly atMs: number; readonly done: Promise<void> } | undefined;
  return async () => {
    const { stores, clock } = deps;
    if (stores.keys.page === undefined || stores.keys.get === undefined) return reported(deps);
    const atMs = clock.now();
    if (last === undefined || atMs - last.atMs >= searchEveryMs) {
      // If a store fails, the earlier results stay; the failure itself is shown separately.
      last = { atMs, done: search(deps, state).catch(() => {}) };
    }
    await last.done;
    return [...state.found.values()].sort((one, other) => other.percent - one.percent);
  };
}

/** If keys can't be listed, only the events `quota_low` are known. */
function reported({ live }: AdminDeps): readonly NearlySpent[] {
  return [...live.state.lowQuotas.values()]
    .filter(({ percent }) => percent >= fromPercent)
    .map(({ subject, percent, atMs }) => ({ keyId: subject, subject, percent, sinceMs: atMs }));
}

async function search(deps: AdminDeps, state: SearchState): Promise<void> {
  const { keys, quota } = deps.stores;
  const nowMs = deps.clock.now();
  const read = readOnce(quota);
  const known = [...state.found.values()].map(({ keyId }) => keyId);
  const ids = new Set([...known, ...suspects(deps).slice(0, maxSuspects)]);
  const again = await Promise.all([...ids].map(async (id) => ({ id, key: await keys.get?.(id) })));
  const start = given({ after: state.after });
  const page = await keys.page?.({ limit: pageSize, disabled: false, ...start });
  state.after = page?.next;
  const listed = (page?.keys ?? []).filter(({ id }) => !ids.has(id));
  const checked = [...again, ...listed.map((key) => ({ id: key.id, key }))];
  const balances = await Promise.all(
    checked.map(async ({ key }) => (key === undefined ? [] : balancesOf(key, read, nowMs))),
  );
  for (const [index, { id, key }] of checked.entries()) {
    update(state, id, key, balances[index] ?? [], nowMs);
  }
}

/** Keys that this process has just served, or refused because their quota was insufficient. */
function suspects({ live }: AdminDeps): readonly string[] {
  const refused = live
    .recentRefusals()
    .flatMap(({ reason, keyId }) => (reason === 'insufficient' ? [keyId] : []));
  const low = [...live.state.lowQuotas.values()].map(({ subject }) => subject);
  const called = live.recentCalls().map(({ keyId }) => keyId);
  return [...new Set([...refused, ...low, ...called])].filter((id) => id !== undefined);
}

function update(
  { found }: SearchState,
  keyId: string,
  key: ApiKey | undefined,
  balances: readonly KeyBalance[],
  nowMs: number,
): void {
  const before = new Map(found);
  for (const [name, entry] of before) if (entry.keyId === keyId) found.delete(name);
  if (key === undefined || key.disabled) return;
  for (const balance of balances) {
    const percent = percentOf(balance);
    const name = `${key.quotaPartition ?? defaultPartition}\n${balance.subject}`;
    // A subject that several keys share is listed once.
    if (percent < fromPercent || found.has(name)) continue;
    const sinceMs = before.get(name)?.sinceMs ?? nowMs;
    setBounded(found, name, { keyId, subject: balance.subject, percent, sinceMs }, maxFound);
  }
}

/** A limit of 0 is set on purpose, so it needs nobody's attention. */
function percentOf({ limitNanos, usedNanos, heldNanos }: KeyBalance): number {
  if (limitNanos === 0n) return 0;
  return Number(((usedNanos + heldNanos) * 100n) / limitNanos);
}

/** Reads each subject once, since many keys may be charged to it. */
function readOnce(quota: QuotaStore): Pick<QuotaStore, 'read'> {
  const states = new Map<string, ReturnType<QuotaStore['read']>>();
  return {
    read: (subject, period, partition) => {
      const name = JSON.stringify([subject, period, partition]);
      const state = states.get(name) ?? quota.read(subject, period, partition);
      states.set(name, state);
      return state;
    },
  };
}
