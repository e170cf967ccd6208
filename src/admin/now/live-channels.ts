/** How the channels have served in this process in the last hour, from the ends of calls. */
import type { FailureReason } from '../../failure-reasons.ts';
import type { UsageRecord } from '../../ports/usage-sink.ts';
import { addTime, emptyHistogram, type Histogram, percentilesOf, sumOf } from './histogram.ts';

/** The attempts of the last hour. */
export interface RecentAttempts {
  /** How many there were. */
  readonly attempts: number;
  /** Those that the account or its provider is to blame for. */
  readonly failures: number;
  /** Twelve times five minutes, the oldest first. */
  readonly slices: readonly {
    /** How many there were in these five minutes. */
    readonly attempts: number;
    /** Those of them that the account or its provider is to blame for. */
    readonly failures: number;
  }[];
  /** From the start of a call to its first byte, of calls that it answered. */
  readonly firstByteP50Ms: number | undefined;
  /** The 95th percentile of the same times, in ms. */
  readonly firstByteP95Ms: number | undefined;
}

/** The latest failed attempt on a channel. */
export interface ChannelFailure {
  /** When it ended, in Unix ms. */
  readonly atMs: number;
  /** The model, by its id in the catalog. */
  readonly modelId: string;
  /** Why, by a name that docs/events.md explains. */
  readonly reason: FailureReason;
  /** The HTTP status of the upstream; undefined if none arrived. */
  readonly status: number | undefined;
}

interface Slice {
  readonly startMs: number;
  attempts: number;
  failures: number;
  calls: number;
  chargeNanos: bigint;
  costNanos: bigint | undefined;
  readonly firstByte: Histogram;
}

interface ChannelState {
  readonly slices: (Slice | undefined)[];
  lastFailure: ChannelFailure | undefined;
}

export type LiveChannels = Map<string, ChannelState>;

const sliceMs = 5 * 60_000;
const sliceCount = 12;
/** A gateway with more channels shows no figures for those that were used later. */
const maxChannels = 256;

/** Failures that say nothing about the account. */
const ofOthers: ReadonlySet<FailureReason> = new Set([
  'upstream_refused',
  'caller_left',
  'caller_stalled',
  'hold_used_up',
  'draining',
]);

export function countChannels(channels: LiveChannels, record: UsageRecord, nowMs: number): void {
  const { modelId, channelId, attempts, firstByteMs, chargeNanos, costNanos } = record;
  for (const [index, { channelId: tried, status, reason: failed }] of attempts.entries()) {
    const state = stateOf(channels, tried);
    if (state === undefined) continue;
    const slice = sliceAt(state, nowMs);
    // An attempt that gave the reply may still have failed after its beginning.
    const isLast = index === attempts.length - 1 && record.outcome !== 'complete';
    const reason = failed ?? (isLast ? record.reason : undefined);
    slice.attempts += 1;
    if (reason === undefined || ofOthers.has(reason)) continue;
    slice.failures += 1;
    state.lastFailure = { atMs: nowMs, modelId, reason, status };
  }
  const served = channelId === undefined ? undefined : stateOf(channels, channelId);
  if (served === undefined) return;
  const slice = sliceAt(served, nowMs);
  slice.calls += 1;
  slice.chargeNanos += chargeNanos;
  if (costNanos !== undefined) slice.costNanos = (slice.costNanos ?? 0n) + costNanos;
  if (firstByteMs !== undefined) addTime(slice.firstByte, firstByteMs);
}

export function channelFigures(channels: LiveChannels, channelId: string, nowMs: number) {
  const state = channels.get(channelId);
  const lastMs = Math.floor(nowMs / sliceMs) * sliceMs;
  const slices = Array.from({ length: sliceCount }, (_, index) => {
    const startMs = lastMs - (sliceCount - 1 - index) * sliceMs;
    const known = state?.slices[(startMs / sliceMs) % sliceCount];
    return known?.startMs === startMs ? known : emptySlice(startMs);
  });
  const costs = slices.map(({ costNanos }) => costNanos).filter((cost) => cost !== undefined);
  const recent: RecentAttempts = {
    attempts: slices.reduce((sum, slice) => sum + slice.attempts, 0),
    failures: slices.reduce((sum, slice) => sum + slice.failures, 0),
    slices: slices.map(({ attempts, failures }) => ({ attempts, failures })),
    ...percentilesOf(sumOf(slices.map(({ firstByte }) => firstByte))),
  };
  const served = {
    calls: slices.reduce((sum, { calls }) => sum + calls, 0),
    chargeNanos: slices.reduce((sum, slice) => sum + slice.chargeNanos, 0n),
    costNanos: costs.length === 0 ? undefined : costs.reduce((sum, cost) => sum + cost, 0n),
  };
  return { recent, served, lastFailure: state?.lastFailure };
}

function stateOf(channels: LiveChannels, channelId: string): ChannelState | undefined {
  const known = channels.get(channelId);
  if (known !== undefined || channels.size >= maxChannels) return known;
  const state = { slices: [], lastFailure: undefined };
  channels.set(channelId, state);
  return state;
}

function sliceAt({ slices }: ChannelState, nowMs: number): Slice {
  const startMs = Math.floor(nowMs / sliceMs) * sliceMs;
  const index = (startMs / sliceMs) % sliceCount;
  const known = slices[index];
  if (known?.startMs === startMs) return known;
  const fresh = emptySlice(startMs);
  slices[index] = fresh;
  return fresh;
}

function emptySlice(startMs: number): Slice {
  const money = { chargeNanos: 0n, costNanos: undefined };
  return { startMs, attempts: 0, failures: 0, calls: 0, ...money, firstByte: emptyHistogram() };
}
