/**
 * Keys that have used nearly all of their limit, found in the balances themselves. Each look reads
 * one page of keys, and those that are known or likely to be nearly out: however many keys there
 * are, the work of a look is bounded.
 */
import type { ApiKey } from '../ports/key-store.ts';
import { defaultPartition } from '../ports/quota-input.ts';
import type { QuotaStore } from '../ports/quota-store.ts';
import { balancesOf, type KeyBalance } from './balances.ts';
import type { AdminDeps } from './deps.ts';
import { setBounded } from './live-state.ts';

/** A subject that has used or holds at least 90 % of its limit. */
export interface NearlySpent {
  readonly keyId: string;
  readonly subject: string;
  readonly percent: number;
  /** When this process found it, in Unix ms. */
  readonly sinceMs: number;
}

const fromPercent = 90;
const lookEveryMs = 10_000;
const pageSize = 100;
const maxSuspects = 50;
const maxFound = 64;

/** What the looks have found, and where the next one goes on. */
interface Search {
  readonly found: Map<string, NearlySpent>;
  after: string | undefined;
}

/** Looks when it is called, at most every 10 s; the fullest first. Never rejects. */
export function nearlySpentKeys(deps: AdminDeps): () => Promise<readonly NearlySpent[]> {
  const search: Search = { found: new Map(), after: undefined };
  let last: { readonly atMs: number; readonly look: Promise<void> } | undefined;
  return async () => {
    const { keys, clock } = deps;
    if (keys.page === undefined || keys.get === undefined) return reported(deps);
    const atMs = clock.now();
    if (last === undefined || atMs - last.atMs >= lookEveryMs) {
      // What was found stays while a store fails: the failure is shown by itself.
      last = { atMs, look: look(deps, search).catch(() => {}) };
    }
    await last.look;
    return [...search.found.values()].sort((one, other) => other.percent - one.percent);
  };
}

/** Where keys can't be listed, there are only the events. */
function reported({ live }: AdminDeps): readonly NearlySpent[] {
  return [...live.state.lowQuotas.values()]
    .filter(({ percent }) => percent >= fromPercent)
    .map(({ subject, percent, atMs }) => ({ keyId: subject, subject, percent, sinceMs: atMs }));
}

async function look(deps: AdminDeps, search: Search): Promise<void> {
  const { keys, quota, clock } = deps;
  const nowMs = clock.now();
  const read = readOnce(quota);
  const known = [...search.found.values()].map(({ keyId }) => keyId);
  const ids = new Set([...known, ...suspects(deps).slice(0, maxSuspects)]);
  const again = await Promise.all([...ids].map(async (id) => ({ id, key: await keys.get?.(id) })));
  const { after } = search;
  const start = after === undefined ? {} : { after };
  const page = await keys.page?.({ limit: pageSize, disabled: false, ...start });
  search.after = page?.next;
  const listed = (page?.keys ?? []).filter(({ id }) => !ids.has(id));
  const looked = [...again, ...listed.map((key) => ({ id: key.id, key }))];
  const balances = await Promise.all(
    looked.map(async ({ key }) => (key === undefined ? [] : balancesOf(key, read, nowMs))),
  );
  for (const [index, { id, key }] of looked.entries()) {
    note(search, id, key, balances[index] ?? [], nowMs);
  }
}

/** Keys that this process has just served, or refused for lack of funds. */
function suspects({ live }: AdminDeps): readonly string[] {
  const refused = live
    .recentRefusals()
    .flatMap(({ reason, keyId }) => (reason === 'insufficient' ? [keyId] : []));
  const low = [...live.state.lowQuotas.values()].map(({ subject }) => subject);
  const called = live.recentCalls().map(({ keyId }) => keyId);
  return [...new Set([...refused, ...low, ...called])].filter((id) => id !== undefined);
}

function note(
  { found }: Search,
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
    // A subject that several keys share is one finding.
    if (percent < fromPercent || found.has(name)) continue;
    const sinceMs = before.get(name)?.sinceMs ?? nowMs;
    setBounded(found, name, { keyId, subject: balance.subject, percent, sinceMs }, maxFound);
  }
}

/** A limit of 0 is a decision of the operator, and no news. */
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
