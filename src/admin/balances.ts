/** The balances of a key: what each of its subjects may spend, has spent and holds. */
import { maxNanos, type Nanos } from '../money.ts';
import type { ApiKey, QuotaSubject } from '../ports/key-store.ts';
import { defaultPartition, limitWithExtra, periodName } from '../ports/quota-input.ts';
import type { QuotaState, QuotaStore } from '../ports/quota-store.ts';

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

/** @throws StoreUnavailable, StoreCorrupt */
export async function balancesOf(
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
