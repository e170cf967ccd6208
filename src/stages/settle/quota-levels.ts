/**
 * Emits `quota_low`: once for each level of a quota, by the call whose charge crosses it. A store
 * states how much of a quota is used after each charge, and its charges are ordered, so that of all
 * processes that share the store only one sees a crossing.
 */
import type { EventListener } from '../../events/events.ts';
import type { QuotaPercent } from '../../events/usage.ts';
import { limitWithExtra } from '../../ports/limits/quota-input.ts';
import type {
  QuotaLine,
  QuotaState,
  QuotaStore,
  ReleaseResult,
  SettleResult,
} from '../../ports/limits/quota-store.ts';
import type { UsageRecord } from '../../ports/usage-sink.ts';
import { countedRepeats } from '../../repeats.ts';
import { isQuotaStateOrMissing } from '../ports/port-answers.ts';
import type { PortCalls } from '../ports/port-calls.ts';

/** Whose call it is. */
export type ChargedCall = Pick<UsageRecord, 'keyId' | 'metadata'>;

/** From the highest: of several that one charge crosses, only the highest is reported. */
const levels = [100, 95, 80] as const satisfies QuotaPercent[];

/** Emits the levels that a charge has crossed, if the store states balances. */
export function reportCrossings(
  result: SettleResult | ReleaseResult,
  lines: readonly QuotaLine[],
  call: ChargedCall,
  emit: EventListener,
): void {
  if (!('balances' in result) || result.balances === undefined) return;
  const { balances } = result;
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index];
    const balance = balances[index];
    if (line === undefined || balance === undefined) continue;
    const { used, limit } = balance;
    const percent = crossed(used - line.amount, used, limit);
    if (percent !== undefined) emitLevel(line, { percent, used, limit }, call, emit);
  }
}

function crossed(before: bigint, after: bigint, limit: bigint): QuotaPercent | undefined {
  // Most calls cross nothing, and end here.
  if (limit === 0n || after * 5n < limit * 4n) return undefined;
  return levels.find((percent) => {
    const threshold = limit * BigInt(percent);
    return before * 100n < threshold && threshold <= after * 100n;
  });
}

interface Level {
  readonly percent: QuotaPercent;
  readonly used: bigint;
  readonly limit: bigint;
}

function emitLevel(
  { subject, period }: QuotaLine,
  { percent, used: usedNanos, limit: limitNanos }: Level,
  { keyId, metadata }: ChargedCall,
  emit: EventListener,
): void {
  emit({ type: 'quota_low', subject, period, percent, limitNanos, usedNanos, keyId, metadata });
}

const lookIntervalMs = 60_000;

interface RefusedCall extends ChargedCall {
  readonly line: QuotaLine;
  readonly partition: string;
  readonly quota: Pick<QuotaStore, 'read'>;
  readonly ports: PortCalls;
}

/**
 * Makes the reporter of calls that a quota refuses when at least 95 % of it is used. For callers it
 * is used up, although the last amount may be too small to be charged to anybody. A refusal changes
 * no balance, so each process reports it, once for each limit.
 */
export function refusalLevels(
  emit: EventListener,
  nowMs: () => number,
): (call: RefusedCall) => Promise<void> {
  const looks = countedRepeats(lookIntervalMs, nowMs);
  // Forgotten like the others, and then emitted again: receivers of notifications see one id.
  const reported = countedRepeats(Number.POSITIVE_INFINITY, nowMs);
  return async ({ line, partition, quota, ports, ...call }) => {
    const name = JSON.stringify([partition, line.subject, line.period]);
    if (looks(name) === undefined) return;
    const state = await read({ line, partition, quota, ports });
    const level = state && usedUp(state);
    if (level === undefined || reported(`${name} ${level.limit}`) === undefined) return;
    emitLevel(line, level, call, emit);
  };
}

/** A quota that is used in full had a charge that crossed its limit. */
function usedUp({ limit: base, extra, used }: QuotaState): Level | undefined {
  const limit = limitWithExtra(base, extra);
  return used < limit && used * 20n >= limit * 19n ? { percent: 100, used, limit } : undefined;
}

async function read({
  line: { subject, period },
  partition,
  quota,
  ports,
}: Omit<RefusedCall, keyof ChargedCall>): Promise<QuotaState | undefined> {
  try {
    return await ports.ask('quota', 'read', isQuotaStateOrMissing, (options) =>
      quota.read(subject, period, partition, options),
    );
  } catch {
    // `ports.ask` has reported it.
    return undefined;
  }
}
