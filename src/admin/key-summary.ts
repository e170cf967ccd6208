/**
 * A key for operators: its rights, its balances, and when it was last used. A balance says what one
 * of its subjects may spend, has spent and holds.
 */
import { maxNanos, type Nanos } from '../money.ts';
import type { ApiKey, QuotaSubject } from '../ports/key-store.ts';
import { defaultPartition, limitWithExtra, periodName } from '../ports/quota-input.ts';
import type { QuotaState, QuotaStore } from '../ports/quota-store.ts';
import { type AdminDeps, given } from './deps.ts';
import { setBounded } from './live.ts';

/** A key as an operator sees it; it holds neither its secret nor a digest of it. */
export interface KeySummary {
  readonly id: string;
  readonly group: string;
  /** Whether a model has this group; undefined if the catalog can't list its models. */
  readonly isGroupServed: boolean | undefined;
  readonly disabled: boolean;
  /** Unix ms; the key is refused from then on. */
  readonly expiresAtMs: number | undefined;
  readonly maxConcurrentCalls: number | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  /** Undefined if the quota store failed. */
  readonly balances: readonly KeyBalance[] | undefined;
  /**
   * When the key last made a call, by the usage log and by this process; undefined if there is no
   * call, or if the log can't be queried and this process remembers none.
   */
  readonly lastUsedMs: number | undefined;
}

export async function summaryOf(key: ApiKey, deps: AdminDeps): Promise<KeySummary> {
  const lastCalls = await lastCallsOf([key], deps);
  return summaryWith(key, lastCalls[0], deps);
}

export async function summariesOf(
  keys: readonly ApiKey[],
  deps: AdminDeps,
): Promise<readonly KeySummary[]> {
  const lastCalls = await lastCallsOf(keys, deps);
  return Promise.all(keys.map((key, index) => summaryWith(key, lastCalls[index], deps)));
}

async function summaryWith(
  key: ApiKey,
  lastCallMs: number | undefined,
  { live, stores: { quota, catalog }, clock }: AdminDeps,
): Promise<KeySummary> {
  const { id, group, disabled, expiresAtMs, maxConcurrentCalls, metadata = {} } = key;
  const seenMs = [lastCallMs, live.lastUsedMs(id)].filter((ms) => ms !== undefined);
  const lastUsedMs = seenMs.length === 0 ? undefined : Math.max(...seenMs);
  // A key must be listed and disabled while the quota store is down.
  const balances = await balancesOf(key, quota, clock.now()).catch(() => undefined);
  const isGroupServed = groupsOf(catalog)?.has(group);
  const rights = { id, group, isGroupServed, disabled, expiresAtMs, maxConcurrentCalls, metadata };
  return { ...rights, balances, lastUsedMs };
}

export function groupsOf(catalog: AdminDeps['stores']['catalog']): ReadonlySet<string> | undefined {
  const models = catalog?.models?.();
  return models && new Set(models.flatMap(({ groups }) => groups));
}

/** Keys are shown even if the usage log fails. */
async function lastCallsOf(
  keys: readonly ApiKey[],
  { stores: { usage } }: AdminDeps,
): Promise<readonly (number | undefined)[]> {
  try {
    return (
      (await usage.usageLastCalls?.(
        keys.map(({ id }) => id),
        { timeoutMs: 5_000 },
      )) ?? []
    );
  } catch {
    return [];
  }
}

/** One subject of a key, in its current period. */
export interface KeyBalance {
  readonly subject: string;
  readonly period: QuotaSubject['period'];
  /** The quota store's name for the current period: `''`, `2026-11` or `2026-11-20`. */
  readonly periodName: string;
  /**
   * Whether this is the key's main subject: its own, else the first one. Limits and top-ups apply
   * to it unless they name another.
   */
  readonly isMain: boolean;
  /** The limit of this period, including what was added to it. */
  readonly limitNanos: Nanos;
  /** The part of the limit that was added for this period; may be negative. */
  readonly extraNanos: bigint;
  readonly usedNanos: Nanos;
  readonly heldNanos: Nanos;
  /** What is left for further calls; 0 if the subject is in debt or disabled. */
  readonly remainingNanos: Nanos;
  /** How many calls of the subject are running, in all processes. */
  readonly runningCalls: number;
}

export function mainSubject({ id, quota }: ApiKey): QuotaSubject | undefined {
  return quota.find((subject) => subject.id === id) ?? quota[0];
}

async function balancesOf(
  key: ApiKey,
  quota: Pick<QuotaStore, 'read'>,
  nowMs: number,
): Promise<readonly KeyBalance[]> {
  const main = mainSubject(key);
  const partition = key.quotaPartition ?? defaultPartition;
  return Promise.all(
    key.quota.map(async (subject) => {
      const name = periodName(subject.period, nowMs);
      const state = await quota.read(subject.id, name, partition);
      return balanceOf(subject, name, state ?? undefined, subject === main);
    }),
  );
}

function balanceOf(
  { id, period, limitNanos }: QuotaSubject,
  name: string,
  state: QuotaState | undefined,
  isMain: boolean,
): KeyBalance {
  const extraNanos = state?.extra ?? 0n;
  // As in a reserve, the limit in the key's record takes precedence over the store's.
  const limit = limitWithExtra(limitNanos ?? state?.limit ?? 0n, extraNanos);
  const usedNanos = state?.used ?? 0n;
  const heldNanos = state?.held ?? 0n;
  const left = limit - usedNanos - heldNanos;
  return {
    subject: id,
    period,
    periodName: name,
    isMain,
    limitNanos: limit,
    extraNanos,
    usedNanos,
    heldNanos,
    remainingNanos: state?.enabled === false || left < 0n ? 0n : left > maxNanos ? maxNanos : left,
    runningCalls: state?.inFlight ?? 0,
  };
}

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

/**
 * Searches the balances when it is called, at most every 10 s; the most spent come first. Never
 * rejects. Each search reads the next page of keys, and those that are known or likely to be nearly
 * spent, so that its work is bounded however many keys there are.
 */
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
