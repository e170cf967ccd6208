/**
 * What this process remembers of its calls for operators: counts for each minute of the last hour,
 * and the latest calls. Every list is bounded, so that the state stays below a megabyte whatever
 * callers send.
 */

import { bucketOf, firstByteBoundsMs } from '../stores/sql/first-bytes.ts';
import type { CallSummary } from './call-summary.ts';
import type { SeenRefusals } from './refusal-counts.ts';

export const liveMinutes = 60;
const minuteMs = 60_000;
const quarterMs = 15 * minuteMs;
const quarters = 4;
const maxRefusalKinds = 16;
const maxRecent = 200;
const maxKeys = 1_000;
const maxChannels = 64;
const maxPerList = 64;

export interface MinuteState {
  startMs: number;
  complete: number;
  refused: number;
  failed: number;
  left: number;
  chargeNanos: bigint;
  readonly firstByte: Histogram;
  /** By code and reason. */
  readonly refusals: Map<string, { readonly code: string; readonly reason: string; count: number }>;
}

interface Occurrences {
  readonly sinceMs: number;
  lastMs: number;
  count: number;
}

interface PortFailure extends Occurrences {
  readonly port: string;
  readonly operation: string;
  readonly reason: string;
  readonly member: string | undefined;
  /** What the member must be, as the end of a sentence. */
  readonly problem: string | undefined;
  /** The code of what was thrown: an SQLSTATE, an errno. */
  readonly code: string | undefined;
  /** Of a store that is down: what it says, in a line. */
  readonly cause: string | undefined;
}

/** A call of which nobody knows whether it ran. */
interface CallInDoubt {
  readonly requestId: string;
  readonly keyId: string;
  readonly modelId: string;
  readonly atMs: number;
}

interface LowQuota {
  readonly subject: string;
  readonly percent: number;
  readonly atMs: number;
}

export interface LiveState {
  readonly minutes: MinuteState[];
  readonly channels: Map<string, { startMs: number; readonly firstByte: Histogram }[]>;
  readonly calls: CallSummary[];
  readonly refusals: SeenRefusals;
  readonly lastUsedMs: Map<string, number>;
  readonly ports: Map<string, PortFailure>;
  readonly inDoubt: Map<string, CallInDoubt>;
  readonly lowQuotas: Map<string, LowQuota>;
  readonly lostSettlements: Occurrences[];
  /** Catalogs and files whose newest version is invalid, so that an older one is in use. */
  readonly staleSources: Map<string, { readonly reason: string; readonly sinceMs: number }>;
}

export function emptyLiveState(): LiveState {
  return {
    minutes: [],
    channels: new Map(),
    calls: [],
    refusals: { kinds: new Map(), size: 0 },
    lastUsedMs: new Map(),
    ports: new Map(),
    inDoubt: new Map(),
    lowQuotas: new Map(),
    lostSettlements: [],
    staleSources: new Map(),
  };
}

/** The minute of a time. It is emptied first if it still holds the counts of an hour ago. */
export function minuteAt({ minutes }: LiveState, nowMs: number): MinuteState {
  const startMs = Math.floor(nowMs / minuteMs) * minuteMs;
  const index = (startMs / minuteMs) % liveMinutes;
  const known = minutes[index];
  if (known !== undefined && known.startMs === startMs) return known;
  const fresh = emptyMinute(startMs);
  minutes[index] = fresh;
  return fresh;
}

/** The minutes until now, oldest first; those without calls are empty. */
export function minutesUntil(state: LiveState, nowMs: number, count: number): MinuteState[] {
  const lastMs = Math.floor(nowMs / minuteMs) * minuteMs;
  return Array.from({ length: count }, (_, index) => {
    const startMs = lastMs - (count - 1 - index) * minuteMs;
    const known = state.minutes[(startMs / minuteMs) % liveMinutes];
    return known?.startMs === startMs ? known : emptyMinute(startMs);
  });
}

function emptyMinute(startMs: number): MinuteState {
  return {
    startMs,
    complete: 0,
    refused: 0,
    failed: 0,
    left: 0,
    chargeNanos: 0n,
    firstByte: emptyHistogram(),
    refusals: new Map(),
  };
}

/** Counts a refusal by its code and reason; after 16 kinds in a minute, as `other`. */
export function countRefusal(minute: MinuteState, code: string, reason: string): void {
  const isFull = minute.refusals.size >= maxRefusalKinds;
  const name = `${code}\n${reason}`;
  const kind = isFull && !minute.refusals.has(name) ? 'other' : name;
  const known = minute.refusals.get(kind);
  if (known !== undefined) known.count += 1;
  else if (kind === 'other') minute.refusals.set(kind, { code: kind, reason: '', count: 1 });
  else minute.refusals.set(kind, { code, reason, count: 1 });
}

export function countFirstByte(
  { channels }: LiveState,
  channelId: string,
  ms: number,
  nowMs: number,
): void {
  const known = channels.get(channelId) ?? [];
  if (!channels.has(channelId)) {
    if (channels.size >= maxChannels) return;
    channels.set(channelId, known);
  }
  const startMs = Math.floor(nowMs / quarterMs) * quarterMs;
  const index = (startMs / quarterMs) % quarters;
  const current = known[index];
  const quarter = current?.startMs === startMs ? current : { startMs, firstByte: emptyHistogram() };
  known[index] = quarter;
  addTime(quarter.firstByte, ms);
}

export function firstBytesOf({ channels }: LiveState, channelId: string, nowMs: number): Histogram {
  const recent = (channels.get(channelId) ?? []).filter(
    (quarter) => quarter !== undefined && nowMs - quarter.startMs < quarters * quarterMs,
  );
  return sumOf(recent.map(({ firstByte }) => firstByte));
}

export function addRecent<T>(list: T[], entry: T): void {
  list.push(entry);
  if (list.length > maxRecent) list.shift();
}

/** Sets an entry; if the map becomes too large, the entry that was set longest ago is dropped. */
export function setBounded<T>(
  map: Map<string, T>,
  name: string,
  value: T,
  max: number = maxPerList,
): void {
  map.delete(name);
  map.set(name, value);
  const [oldest] = map.keys();
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}

export function recordKeyUse({ lastUsedMs }: LiveState, keyId: string, atMs: number): void {
  setBounded(lastUsedMs, keyId, atMs, maxKeys);
}

/** How many durations each bucket has. */
export type Histogram = Uint32Array;

export function emptyHistogram(): Histogram {
  return new Uint32Array(firstByteBoundsMs.length + 1);
}

export function addTime(histogram: Histogram, ms: number): void {
  const index = bucketOf(ms);
  histogram[index] = (histogram[index] ?? 0) + 1;
}

export function sumOf(histograms: Iterable<Histogram>): Histogram {
  const sum = emptyHistogram();
  for (const histogram of histograms) {
    for (const [index, count] of histogram.entries()) sum[index] = (sum[index] ?? 0) + count;
  }
  return sum;
}

export function percentilesOf(histogram: Histogram): {
  readonly firstByteP50Ms: number | undefined;
  readonly firstByteP95Ms: number | undefined;
} {
  const [firstByteP50Ms, firstByteP95Ms] = [0.5, 0.95].map((share) => percentile(histogram, share));
  return { firstByteP50Ms, firstByteP95Ms };
}

/** Interpolates within a bucket; durations above the last bound count as that bound. */
export function percentile(histogram: Histogram, share: number): number | undefined {
  const total = histogram.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  const wanted = share * total;
  let below = 0;
  for (const [index, count] of histogram.entries()) {
    if (count > 0 && below + count >= wanted) {
      const from = firstByteBoundsMs[index - 1] ?? 0;
      const to = firstByteBoundsMs[index] ?? from;
      return Math.round(from + ((to - from) * Math.max(0, wanted - below)) / count);
    }
    below += count;
  }
  return firstByteBoundsMs.at(-1);
}
