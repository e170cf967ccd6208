/**
 * Tracks the calls that are waiting for a first byte and how long each model usually takes, to find
 * channels that are slow while others reply. Timeouts alone would show it only minutes later.
 */

/**
 * The kinds of call whose times to a first byte are comparable: a whole reply's first byte comes
 * when all of it has been generated, a token count's almost immediately.
 */
export type LatencyClass = 'image' | 'count' | 'streamed' | 'whole';

export interface ServedModel {
  readonly channelId: string;
  readonly upstreamModel: string;
}

export interface WaitingCall extends ServedModel {
  readonly times: FirstByteTimes;
  readonly progress: ChannelProgress;
  /** Where its time to a first byte is recorded, if the model prefers the fastest channel. */
  latest: LatestTimes | undefined;
  readonly startedMs: number;
  /** Its index among the waiting calls; undefined once a byte has arrived or the call has ended. */
  position: number | undefined;
  firstByteMs: number | undefined;
  /** How long it waited, if it ended without a byte. */
  abandonedAfterMs: number | undefined;
}

/** The times to a first byte of one model and kind of reply, over all its channels. */
interface FirstByteTimes {
  /** The latest times to a first byte, in ms; older ones are overwritten. */
  readonly samples: number[];
  sampleCount: number;
  readonly channels: Map<string, ChannelProgress>;
  comparison: Comparison | undefined;
}

/** `byteMs` and `answeredMs` are the latest start times of calls that got so far; -1 if none. */
interface ChannelProgress {
  byteMs: number;
  answeredMs: number;
  /** The last calls that ended after a long wait, with no byte from the channel since. */
  abandoned: readonly WaitingCall[];
  /** Kept from the first question for the median on: most models prefer no channel. */
  latest: LatestTimes | undefined;
}

/** The latest times of one channel to a first byte, in ms; older ones are overwritten. */
interface LatestTimes {
  readonly samples: Float64Array;
  count: number;
  /** How many calls were sent to be measured. */
  calls: number;
  /** Undefined after a change. */
  median: number | undefined;
}

/** One call that is sent to another channel, to tell a slow channel from a slow model. */
interface Comparison {
  readonly slow: ServedModel;
  readonly sinceMs: number;
  isSent: boolean;
}

/** A channel for which at least three calls have been waiting longer than usual. */
export interface SlowChannel extends ServedModel {
  /**
   * `slow`: another channel has replied to a later call. `compared`: none has, perhaps because none
   * was tried, so one call should be sent to another channel.
   */
  readonly kind: 'slow' | 'compared';
}

export interface RequestedModel {
  readonly modelId: string;
  readonly reply: LatencyClass;
}

/** A channel is slow once this many calls wait too long. */
const slowCalls = 3;
const minLimitMs = 10_000;
const limitMedians = 5;
const maxSamples = 32;
const maxMeasuringCalls = 3;
const comparisonMs = 10_000;
/** Bounds the memory, because a host's catalog may keep returning new ids. */
const maxModels = 10_000;
const maxChannels = 1_000;

export class WaitingCalls {
  /** An array with swap-removal instead of a Set, as in `runningCalls`. */
  readonly #waiting: WaitingCall[] = [];
  /** Callers may disconnect one after the other, so that never three wait at once. */
  readonly #silent = new Set<ChannelProgress>();
  readonly #models = new Map<string, Partial<Record<LatencyClass, FirstByteTimes>>>();

  begin(
    { channelId, upstreamModel }: ServedModel,
    asked: RequestedModel,
    nowMs: number,
  ): WaitingCall {
    const times = this.#timesOf(asked);
    const progress = progressOf(times, channelId);
    const call: WaitingCall = {
      channelId,
      upstreamModel,
      times,
      progress,
      latest: progress.latest,
      startedMs: nowMs,
      position: this.#waiting.length,
      firstByteMs: undefined,
      abandonedAfterMs: undefined,
    };
    this.#waiting.push(call);
    if (call.latest !== undefined) call.latest.calls += 1;
    return call;
  }

  /**
   * The median of the channel's latest times to a first byte. Undefined if none is known; infinite
   * if no call has been answered of several that were sent, so that it does not get all others.
   */
  medianMs(asked: RequestedModel, channelId: string): number | undefined {
    const progress = progressOf(this.#timesOf(asked), channelId);
    progress.latest ??= noTimes();
    const { calls, count } = progress.latest;
    if (count === 0) return calls < maxMeasuringCalls ? undefined : Number.POSITIVE_INFINITY;
    return medianOf(progress.latest);
  }

  /** Measures a call for another channel's median as well. */
  measureFor(channelId: string, call: WaitingCall, { modelId, reply }: RequestedModel): void {
    call.latest = this.#models.get(modelId)?.[reply]?.channels.get(channelId)?.latest;
    if (call.latest !== undefined) call.latest.calls += 1;
  }

  #timesOf({ modelId, reply }: RequestedModel): FirstByteTimes {
    const ofModel = this.#models.get(modelId) ?? setBounded(this.#models, modelId, {}, maxModels);
    ofModel[reply] ??= { samples: [], sampleCount: 0, channels: new Map(), comparison: undefined };
    return ofModel[reply];
  }

  firstByte(call: WaitingCall, nowMs: number): void {
    const { progress, startedMs } = call;
    this.#remove(call);
    call.firstByteMs = nowMs - startedMs;
    progress.byteMs = Math.max(progress.byteMs, startedMs);
    if (progress.abandoned.length === 0) return;
    progress.abandoned = [];
    this.#silent.delete(progress);
  }

  end(call: WaitingCall, nowMs: number): void {
    const { position, progress, startedMs } = call;
    const waitedMs = nowMs - startedMs;
    this.#remove(call);
    if (position === undefined || waitedMs <= minLimitMs) return;
    call.abandonedAfterMs = waitedMs;
    progress.abandoned = [...progress.abandoned.slice(1 - slowCalls), call];
    if (this.#silent.size < maxModels) this.#silent.add(progress);
  }

  #remove(call: WaitingCall): void {
    const { position } = call;
    if (position === undefined) return;
    call.position = undefined;
    const last = this.#waiting.pop();
    if (last === undefined || last === call) return;
    last.position = position;
    this.#waiting[position] = last;
  }

  forget(channelId: string, nowMs: number): void {
    for (const byReply of this.#models.values()) {
      for (const times of Object.values(byReply)) {
        const progress = times.channels.get(channelId);
        if (progress === undefined) continue;
        progress.byteMs = nowMs;
        progress.abandoned = [];
        progress.latest = undefined;
        this.#silent.delete(progress);
      }
    }
  }

  /** The channels that are slow now. Requests a comparison at most every ten seconds. */
  slowChannels(nowMs: number): readonly SlowChannel[] {
    const abandoned = [...this.#silent].flatMap((progress) => progress.abandoned);
    return findSlowChannels([...this.#waiting, ...abandoned], nowMs);
  }
}

/** The reply has begun. Returns true if a comparison was waiting for it. */
export function recordAnswer({
  times,
  progress,
  latest,
  startedMs,
  firstByteMs,
  channelId,
}: WaitingCall): boolean {
  progress.answeredMs = Math.max(progress.answeredMs, startedMs);
  if (firstByteMs !== undefined) {
    times.samples[times.sampleCount % maxSamples] = firstByteMs;
    times.sampleCount += 1;
    if (latest !== undefined) addTime(latest, firstByteMs);
  }
  const { comparison } = times;
  if (comparison?.isSent !== true || comparison.slow.channelId === channelId) return false;
  times.comparison = undefined;
  return true;
}

function noTimes(): LatestTimes {
  return { samples: new Float64Array(maxSamples), count: 0, calls: 0, median: undefined };
}

function addTime(latest: LatestTimes, ms: number): void {
  latest.samples[latest.count % maxSamples] = ms;
  latest.count += 1;
  latest.median = undefined;
}

function medianOf(latest: LatestTimes): number | undefined {
  const { samples, count } = latest;
  if (latest.median === undefined) {
    const sorted = samples.slice(0, count).sort();
    latest.median = sorted[sorted.length >> 1];
  }
  return latest.median;
}

/** The slow channel that this call is compared with, if it is the first through another channel. */
export function comparedWith({
  times: { comparison },
  channelId,
}: WaitingCall): ServedModel | undefined {
  if (comparison === undefined || comparison.isSent) return undefined;
  if (comparison.slow.channelId === channelId) return undefined;
  comparison.isSent = true;
  return comparison.slow;
}

/** Undefined if no first byte has arrived yet. */
export function usualLimitMs({
  times: { samples },
}: Pick<WaitingCall, 'times'>): number | undefined {
  const sorted = [...samples].sort((a, b) => a - b);
  const median = sorted[sorted.length >> 1];
  return median === undefined ? undefined : Math.max(minLimitMs, limitMedians * median);
}

/** Whether a later call has been answered: then the silence of this one proves nothing. */
export function isOvertaken({ progress, startedMs }: WaitingCall): boolean {
  return progress.answeredMs > startedMs;
}

function progressOf({ channels }: FirstByteTimes, channelId: string): ChannelProgress {
  const known = channels.get(channelId);
  if (known !== undefined) return known;
  const progress = { byteMs: -1, answeredMs: -1, abandoned: [], latest: undefined };
  return setBounded<ChannelProgress>(channels, channelId, progress, maxChannels);
}

function setBounded<T>(map: Map<string, T>, name: string, value: T, maxSize: number): T {
  if (map.size >= maxSize) {
    for (const oldest of map.keys()) {
      map.delete(oldest);
      break;
    }
  }
  map.set(name, value);
  return value;
}

interface Overdue {
  readonly call: WaitingCall;
  readonly limitMs: number;
  /** The latest start among calls to which another channel has replied. */
  readonly othersAnsweredMs: number;
  calls: number;
  /** How many of these calls began before that one. */
  overtaken: number;
}

function findSlowChannels(calls: readonly WaitingCall[], nowMs: number): readonly SlowChannel[] {
  const found = new Map<ChannelProgress, Overdue>();
  for (const call of calls) {
    const waitedMs = call.abandonedAfterMs ?? nowMs - call.startedMs;
    // The channel has sent something to a later call, so only this call is slow.
    if (waitedMs <= minLimitMs || call.startedMs <= call.progress.byteMs) continue;
    const overdue = found.get(call.progress) ?? newOverdue(call);
    found.set(call.progress, overdue);
    if (waitedMs <= overdue.limitMs) continue;
    overdue.calls += 1;
    if (call.startedMs < overdue.othersAnsweredMs) overdue.overtaken += 1;
  }
  return [...found.values()].flatMap((overdue) => {
    const { channelId, upstreamModel } = overdue.call;
    const kind = kindOf(overdue, nowMs);
    return kind === undefined ? [] : [{ channelId, upstreamModel, kind }];
  });
}

function newOverdue(call: WaitingCall): Overdue {
  let othersAnsweredMs = -1;
  for (const [channelId, { answeredMs }] of call.times.channels) {
    if (channelId !== call.channelId) othersAnsweredMs = Math.max(othersAnsweredMs, answeredMs);
  }
  return {
    call,
    limitMs: usualLimitMs(call) ?? minLimitMs,
    othersAnsweredMs,
    calls: 0,
    overtaken: 0,
  };
}

function kindOf(
  { call, calls, overtaken }: Overdue,
  nowMs: number,
): SlowChannel['kind'] | undefined {
  if (overtaken >= slowCalls) return 'slow';
  const { times, channelId, upstreamModel } = call;
  if (calls < slowCalls) return undefined;
  if (times.comparison !== undefined && nowMs - times.comparison.sinceMs < comparisonMs) {
    return undefined;
  }
  const slow = { channelId, upstreamModel };
  times.comparison = { slow, sinceMs: nowMs, isSent: false };
  return 'compared';
}
