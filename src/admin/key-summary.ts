/** A key for operators: its rights, its balances, and when it was last used. */
import type { ApiKey } from '../ports/key-store.ts';
import { balancesOf, type KeyBalance } from './balances.ts';
import type { AdminDeps } from './deps.ts';

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
  { live, quota, clock, catalog }: AdminDeps,
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

export function groupsOf(catalog: AdminDeps['catalog']): ReadonlySet<string> | undefined {
  const models = catalog?.models?.();
  return models && new Set(models.flatMap(({ groups }) => groups));
}

/** Keys are shown even if the usage log fails. */
async function lastCallsOf(
  keys: readonly ApiKey[],
  { usage }: AdminDeps,
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
