/**
 * A key for operators: its rights, its balances, and when it was last used. A balance says what one
 * of its subjects may spend, has spent and holds.
 */
import { maxNanos, type Nanos } from '../../money.ts';
import { joined, type KeyOwner, ownerSubjectId } from '../../ports/keys/key-owner.ts';
import type { ApiKey, QuotaPeriod, QuotaSubject } from '../../ports/keys/key-store.ts';
import { defaultPartition, limitWithExtra, periodName } from '../../ports/limits/quota-input.ts';
import type { QuotaState, QuotaStore } from '../../ports/limits/quota-store.ts';
import type { KeyRateLimits } from '../../ports/limits/rates.ts';
import { type AdminDeps, given } from '../deps.ts';
import { setBounded } from '../now/live.ts';

/** A key as an operator sees it; it holds neither its secret nor a digest of it. */
export interface KeySummary {
  /** As in usage records; never the secret. */
  readonly id: string;
  /** Decides which models the key may use. */
  readonly group: string;
  /** The only models of the group that it may use; undefined for all. */
  readonly models: readonly string[] | undefined;
  /** Its owner, whose budget is among the balances; undefined if it has none. */
  readonly owner: OwnerOfKey | undefined;
  /** Whether a model has this group; undefined if the catalog can't list its models. */
  readonly isGroupServed: boolean | undefined;
  /** Whether it is refused with 401. */
  readonly disabled: boolean;
  /** Unix ms; the key is refused from then on. */
  readonly expiresAtMs: number | undefined;
  /** How many of its calls may run at once; undefined for no limit. */
  readonly maxConcurrentCalls: number | undefined;
  /** Undefined for the `defaultRates` of the gateway. */
  readonly rates: readonly KeyRateLimits[] | undefined;
  /** The host's labels; they appear in usage records. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Undefined if the quota store failed. */
  readonly balances: readonly KeyBalance[] | undefined;
  /**
   * When the key last made a call, by the usage log and by this process; undefined if there is no
   * call, or if the log can't be queried and this process remembers none.
   */
  readonly lastUsedMs: number | undefined;
}

/** The owner of a key, as it is shown with the key. */
export interface OwnerOfKey {
  /** The owner's id in the key store. */
  readonly id: string;
  /** Undefined also if the key store has no owners: the owner of a key is a label there. */
  readonly name: string | undefined;
  /** The owner is disabled or missing, so that the key is refused. */
  readonly disabled: boolean;
}

export async function summaryOf(key: ApiKey, deps: AdminDeps): Promise<KeySummary> {
  const [lastCalls, owners] = await Promise.all([lastCallsOf([key], deps), ownersOf([key], deps)]);
  return summaryWith(key, lastCalls[0], owners?.get(key.owner), deps);
}

export async function summariesOf(
  keys: readonly ApiKey[],
  deps: AdminDeps,
): Promise<readonly KeySummary[]> {
  const [lastCalls, owners] = await Promise.all([lastCallsOf(keys, deps), ownersOf(keys, deps)]);
  return Promise.all(
    keys.map((key, index) => summaryWith(key, lastCalls[index], owners?.get(key.owner), deps)),
  );
}

async function summaryWith(
  key: ApiKey,
  lastCallMs: number | undefined,
  owner: KeyOwner | undefined,
  { live, stores: { quota, catalog, keys }, clock }: AdminDeps,
): Promise<KeySummary> {
  const { id, group, models, disabled, expiresAtMs, maxConcurrentCalls, rates } = key;
  const seenMs = [lastCallMs, live.lastUsedMs(id)].filter((ms) => ms !== undefined);
  const lastUsedMs = seenMs.length === 0 ? undefined : Math.max(...seenMs);
  // A key must be listed and disabled while the quota store is down.
  const balances = await balancesOf(key, owner, quota, clock.now()).catch(() => undefined);
  const isGroupServed = groupsOf(catalog)?.has(group);
  const ownerOfKey = key.owner === undefined ? undefined : shownOwner(key.owner, owner, keys);
  const rights = { id, group, models, owner: ownerOfKey, isGroupServed, disabled, expiresAtMs };
  const { metadata = {} } = key;
  return { ...rights, maxConcurrentCalls, rates, metadata, balances, lastUsedMs };
}

function shownOwner(
  id: string,
  owner: KeyOwner | undefined,
  keys: AdminDeps['stores']['keys'],
): OwnerOfKey {
  const isRefused = keys.owners !== undefined && (owner === undefined || owner.disabled);
  return { id, name: owner?.name, disabled: isRefused };
}

/** The owners of keys, each looked up once; undefined if the key store has none. */
async function ownersOf(
  keys: readonly ApiKey[],
  { stores }: AdminDeps,
): Promise<ReadonlyMap<string | undefined, KeyOwner | undefined> | undefined> {
  const { owners } = stores.keys;
  if (owners === undefined) return undefined;
  const ids = [...new Set(keys.flatMap(({ owner }) => owner ?? []))];
  const found = ids.map(async (id) => [id, (await owners.get(id)) ?? undefined] as const);
  return new Map(await Promise.all(found));
}

/** What is wrong with a group for keys, such as that no model has it; undefined if nothing. */
export function groupWarning({ stores }: AdminDeps, group: string): string | undefined {
  return groupsOf(stores.catalog)?.has(group) === false
    ? `No model serves the group ${group}.`
    : undefined;
}

function groupsOf(catalog: AdminDeps['stores']['catalog']): ReadonlySet<string> | undefined {
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
export interface KeyBalance extends SubjectBalance {
  /**
   * Whether this is the key's main subject: its own, else the first one. Limits and top-ups apply
   * to it unless they name another.
   */
  readonly isMain: boolean;
  /** Whether it is the budget of the key's owner, which is changed there. */
  readonly isOwners: boolean;
}

/** A subject in its current period. */
export interface SubjectBalance {
  /** The subject that is charged, by its id. */
  readonly subject: string;
  /** How often the limit begins anew, in UTC. */
  readonly period: QuotaPeriod;
  /** The day on which the month begins; undefined for the first, and for other periods. */
  readonly anchorDay: number | undefined;
  /**
   * The quota store's name for the current period: `''`, `2026-11-20`, `2026-W47`, `2026-11`, or
   * `2026-11.15` for a month that begins on its anchor day.
   */
  readonly periodName: string;
  /** The only models whose calls are charged to it; undefined for all. */
  readonly models: readonly string[] | undefined;
  /** The limit of this period, including what was added to it. */
  readonly limitNanos: Nanos;
  /** The part of the limit that was added for this period; may be negative. */
  readonly extraNanos: bigint;
  /** What was charged in this period, in nanos. */
  readonly usedNanos: Nanos;
  /** What running calls and calls in doubt hold, in nanos. */
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
  owner: KeyOwner | undefined,
  quota: Pick<QuotaStore, 'read'>,
  nowMs: number,
): Promise<readonly KeyBalance[]> {
  const main = mainSubject(key);
  const partition = key.quotaPartition ?? defaultPartition;
  const subjects = owner === undefined ? key.quota : joined(key, owner).quota;
  return Promise.all(
    subjects.map(async (subject) => {
      const balance = await readBalance(subject, { partition, quota, nowMs });
      const isOwners = owner !== undefined && subject.id === ownerSubjectId(owner.id);
      return { ...balance, isMain: subject === main, isOwners };
    }),
  );
}

interface BalanceSource {
  readonly partition: string;
  readonly quota: Pick<QuotaStore, 'read'>;
  readonly nowMs: number;
}

/** What a subject may spend, has spent and holds in its current period. */
export async function readBalance(
  subject: QuotaSubject,
  { partition, quota, nowMs }: BalanceSource,
): Promise<SubjectBalance> {
  const name = periodName(subject, nowMs);
  const state = await quota.read(subject.id, name, partition);
  return balanceOf(subject, name, state ?? undefined);
}

function balanceOf(
  { id, period, anchorDay, models, limitNanos }: QuotaSubject,
  name: string,
  state: QuotaState | undefined,
): SubjectBalance {
  const extraNanos = state?.extra ?? 0n;
  // As in a reserve, the limit in the key's record takes precedence over the store's.
  const limit = limitWithExtra(limitNanos ?? state?.limit ?? 0n, extraNanos);
  const usedNanos = state?.used ?? 0n;
  const heldNanos = state?.held ?? 0n;
  const left = limit - usedNanos - heldNanos;
  return {
    subject: id,
    period,
    anchorDay,
    periodName: name,
    models,
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
  const owners = await ownersOf(
    checked.flatMap(({ key }) => key ?? []),
    deps,
  );
  const balances = await Promise.all(
    checked.map(async ({ key }) =>
      key === undefined ? [] : balancesOf(key, owners?.get(key.owner), read, nowMs),
    ),
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
