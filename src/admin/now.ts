/** The present of this process: live figures, the sentence about them, and what needs a person. */
import { modelChannels } from './channels.ts';
import type { AdminDeps } from './deps.ts';
import { firstByteOf, type LiveMinute, type RefusalCount } from './live.ts';
import { liveMinutes } from './live-state.ts';
import { type Attention, attentionOf, type Clause, sentenceOf } from './sentence.ts';

/** How this process is doing. Reports of the usage log are those of all processes. */
export interface Now {
  readonly nowMs: number;
  /** When the admin library of this process was created. */
  readonly startedAtMs: number;
  /** Calls that run through a channel now. */
  readonly runningCalls: number;
  /** Oldest first; at most 60, the current minute is the last. */
  readonly minutes: readonly LiveMinute[];
  /** Of all these minutes together. */
  readonly firstByteP50Ms: number | undefined;
  readonly firstByteP95Ms: number | undefined;
  /** The most frequent first. */
  readonly refusals: readonly RefusalCount[];
  /** Worst first; one clause where all is well. */
  readonly sentence: readonly Clause[];
  /** At most eight, worst first. */
  readonly attention: readonly Attention[];
  /** Today's calls in UTC, by the usage log of all processes; undefined without one. */
  readonly today: Today | undefined;
}

/** What the usage log says about today. */
export interface Today {
  readonly calls: number;
  readonly chargeNanos: bigint;
  /** The part of it that the quota store has not accepted, or not yet. */
  readonly unbookedNanos: bigint;
  readonly costNanos: bigint;
}

/** Reads {@link Now} for the last minutes, 1 to 60. */
export type ReadNow = (minutes?: number) => Promise<Now>;

/** The sum of a day changes slowly, and many pages may ask for it. */
const todayMs = 10_000;

/** The present of an admin library. */
export function adminNow(deps: AdminDeps): ReadNow {
  const startedAtMs = deps.clock.now();
  let known: { readonly atMs: number; readonly today: Promise<Today | undefined> } | undefined;
  return async (minutes = liveMinutes) => {
    const { clock, live } = deps;
    const nowMs = clock.now();
    if (known === undefined || nowMs - known.atMs >= todayMs) {
      known = { atMs: nowMs, today: readToday(deps, nowMs) };
    }
    const models = modelChannels(deps);
    const situation = { state: live.state, nowMs, models };
    return {
      nowMs,
      startedAtMs,
      runningCalls: runningCalls(deps),
      minutes: live.minutes(minutes),
      firstByteP50Ms: firstByteOf(live.state, nowMs, minutes, 0.5),
      firstByteP95Ms: firstByteOf(live.state, nowMs, minutes, 0.95),
      refusals: live.refusals(minutes),
      sentence: sentenceOf(situation),
      attention: attentionOf(situation),
      today: await known.today,
    };
  };
}

function runningCalls({ gateway }: AdminDeps): number {
  return gateway.channels().reduce((sum, { inFlight }) => sum + inFlight, 0);
}

/** A log that fails must not hide the figures of this process. */
async function readToday({ usage }: AdminDeps, nowMs: number): Promise<Today | undefined> {
  if (usage.usageReport === undefined) return undefined;
  const dayMs = 86_400_000;
  const fromMs = Math.floor(nowMs / dayMs) * dayMs;
  try {
    const [row] = await usage.usageReport({ by: 'day', fromMs, toMs: fromMs + dayMs });
    const { calls = 0, chargeNanos = 0n, unbookedNanos = 0n, costNanos = 0n } = row ?? {};
    return { calls, chargeNanos, unbookedNanos, costNanos };
  } catch {
    return undefined;
  }
}
