/**
 * Which calls wait for a first byte, how long a model usually takes to send one, and so which
 * channels keep their callers waiting while others answer. A time-out says so only minutes later.
 */

/**
 * Calls whose first bytes take alike: that of a whole reply comes when all of it has been made,
 * that of a count of tokens at once.
 */
export type ReplyKind = 'image' | 'count' | 'streamed' | 'whole';

/** A model on a channel. */
export interface ServedModel {
  readonly channelId: string;
  readonly upstreamModel: string;
}

/** A call that goes through a channel. */
export interface WaitingCall extends ServedModel {
  readonly pace: Pace;
  readonly reached: Reached;
  readonly startedMs: number;
  /** Its index among those that wait; undefined once a byte has come, or it is over. */
  position: number | undefined;
  firstByteMs: number | undefined;
  /** How long it waited, where it ended without a byte. */
  gaveUpMs: number | undefined;
}

/** What a model takes to begin its replies of one kind, over all its channels. */
interface Pace {
  /** The last replies' times to a first byte, in ms; older ones are overwritten. */
  readonly samples: number[];
  sampled: number;
  readonly channels: Map<string, Reached>;
  comparison: Comparison | undefined;
}

/** How far calls have come through one channel, by the latest start among them; -1 for none. */
interface Reached {
  /** Of those to which anything came. */
  byteMs: number;
  /** Of those whose reply has begun. */
  answeredMs: number;
  /** The last calls that ended after a long wait, with nothing from there since. */
  gaveUp: readonly WaitingCall[];
}

/** One call that is sent elsewhere, to tell a slow channel from a slow model. */
interface Comparison {
  readonly slow: ServedModel;
  readonly sinceMs: number;
  isSent: boolean;
}

/** A channel that keeps at least three calls waiting for longer than is usual. */
export interface SlowChannel extends ServedModel {
  /**
   * `slow`: another channel has answered a later call. `compared`: none has, perhaps because none
   * was asked; one call is to be sent elsewhere.
   */
  readonly kind: 'slow' | 'compared';
}

/** The calls of one gateway that wait for a first byte. */
export interface WaitingCalls {
  begin(place: ServedModel, model: ModelAsked, nowMs: number): WaitingCall;
  firstByte(call: WaitingCall, nowMs: number): void;
  /** Its reply has begun; true where a comparison has waited for that. */
  answered(call: WaitingCall): boolean;
  /** It has ended, whatever came of it. */
  over(call: WaitingCall, nowMs: number): void;
  /** The channel that a call is to be compared with, where it is the first through another one. */
  comparedWith(call: WaitingCall): ServedModel | undefined;
  /** Nothing that has been seen of a channel so far makes it slow. */
  forget(channelId: string, nowMs: number): void;
  /** The channels that are slow now. A comparison is asked for at most every ten seconds. */
  slowChannels(nowMs: number): readonly SlowChannel[];
}

/** What a caller asked for. */
export interface ModelAsked {
  /** By the catalog's name. */
  readonly modelId: string;
  readonly reply: ReplyKind;
}

/** A channel is slow once this many calls wait too long. */
const slowCalls = 3;
const leastLimitMs = 10_000;
const limitMedians = 5;
const mostSamples = 32;
const comparisonMs = 10_000;
/** A catalog that makes up ids must not fill the memory. */
const mostModels = 10_000;
const mostChannels = 1_000;

/** Nobody waits yet. */
export function waitingCalls(): WaitingCalls {
  // An array with swaps, no Set: see `runningCalls`.
  const waiting: WaitingCall[] = [];
  /** Channels that calls have ended at after a long wait. Callers may leave one after the other. */
  const silent = new Set<Reached>();
  const models = new Map<string, Partial<Record<ReplyKind, Pace>>>();

  const paceOf = ({ modelId, reply }: ModelAsked): Pace => {
    const ofModel = models.get(modelId) ?? kept(models, modelId, {}, mostModels);
    ofModel[reply] ??= { samples: [], sampled: 0, channels: new Map(), comparison: undefined };
    return ofModel[reply];
  };

  const remove = (call: WaitingCall): void => {
    const { position } = call;
    if (position === undefined) return;
    call.position = undefined;
    const last = waiting.pop();
    if (last === undefined || last === call) return;
    last.position = position;
    waiting[position] = last;
  };

  return {
    begin: ({ channelId, upstreamModel }, asked, startedMs) => {
      const pace = paceOf(asked);
      const call: WaitingCall = {
        channelId,
        upstreamModel,
        pace,
        reached: reachedBy(pace, channelId),
        startedMs,
        position: waiting.length,
        firstByteMs: undefined,
        gaveUpMs: undefined,
      };
      waiting.push(call);
      return call;
    },
    firstByte: (call, nowMs) => {
      const { reached, startedMs } = call;
      remove(call);
      call.firstByteMs = nowMs - startedMs;
      reached.byteMs = Math.max(reached.byteMs, startedMs);
      if (reached.gaveUp.length === 0) return;
      reached.gaveUp = [];
      silent.delete(reached);
    },
    answered: ({ pace, reached, startedMs, firstByteMs, channelId }) => {
      reached.answeredMs = Math.max(reached.answeredMs, startedMs);
      if (firstByteMs !== undefined) {
        pace.samples[pace.sampled % mostSamples] = firstByteMs;
        pace.sampled += 1;
      }
      const { comparison } = pace;
      if (comparison?.isSent !== true || comparison.slow.channelId === channelId) return false;
      pace.comparison = undefined;
      return true;
    },
    over: (call, nowMs) => {
      const { position, reached, startedMs } = call;
      const waitedMs = nowMs - startedMs;
      if (position === undefined || waitedMs <= leastLimitMs) return remove(call);
      remove(call);
      call.gaveUpMs = waitedMs;
      reached.gaveUp = [...reached.gaveUp.slice(1 - slowCalls), call];
      if (silent.size < mostModels) silent.add(reached);
    },
    comparedWith: ({ pace: { comparison }, channelId }) => {
      if (comparison === undefined || comparison.isSent) return undefined;
      if (comparison.slow.channelId === channelId) return undefined;
      comparison.isSent = true;
      return comparison.slow;
    },
    forget: (channelId, nowMs) => {
      for (const paces of models.values()) {
        for (const pace of Object.values(paces)) {
          const reached = pace.channels.get(channelId);
          if (reached === undefined) continue;
          reached.byteMs = nowMs;
          reached.gaveUp = [];
          silent.delete(reached);
        }
      }
    },
    slowChannels: (nowMs) =>
      slowAmong([...waiting, ...[...silent].flatMap(({ gaveUp }) => gaveUp)], nowMs),
  };
}

/** How long a first byte may take before a channel is slow; undefined where none has come. */
export function usualLimitMs({ pace: { samples } }: Pick<WaitingCall, 'pace'>): number | undefined {
  const sorted = [...samples].sort((a, b) => a - b);
  const median = sorted[sorted.length >> 1];
  return median === undefined ? undefined : Math.max(leastLimitMs, limitMedians * median);
}

/** A reply has begun there to a call that began after this one: its own silence is no sign. */
export function isOutrun({ reached, startedMs }: WaitingCall): boolean {
  return reached.answeredMs > startedMs;
}

function reachedBy({ channels }: Pace, channelId: string): Reached {
  const known = channels.get(channelId);
  return (
    known ?? kept(channels, channelId, { byteMs: -1, answeredMs: -1, gaveUp: [] }, mostChannels)
  );
}

function kept<T>(map: Map<string, T>, name: string, value: T, most: number): T {
  if (map.size >= most) {
    for (const oldest of map.keys()) {
      map.delete(oldest);
      break;
    }
  }
  map.set(name, value);
  return value;
}

/** The calls that wait too long through one channel, or have. */
interface Overdue {
  readonly call: WaitingCall;
  readonly limitMs: number;
  /** When the latest call began that another channel has answered. */
  readonly othersMs: number;
  calls: number;
  /** Of these, those that began before it. */
  overtaken: number;
}

function slowAmong(calls: readonly WaitingCall[], nowMs: number): readonly SlowChannel[] {
  const found = new Map<Reached, Overdue>();
  for (const call of calls) {
    const waitedMs = call.gaveUpMs ?? nowMs - call.startedMs;
    // Something has come there to a later call: it is this one that takes long.
    if (waitedMs <= leastLimitMs || call.startedMs <= call.reached.byteMs) continue;
    const overdue = found.get(call.reached) ?? overdueFrom(call);
    found.set(call.reached, overdue);
    if (waitedMs <= overdue.limitMs) continue;
    overdue.calls += 1;
    if (call.startedMs < overdue.othersMs) overdue.overtaken += 1;
  }
  return [...found.values()].flatMap((overdue) => {
    const { channelId, upstreamModel } = overdue.call;
    const kind = kindOf(overdue, nowMs);
    return kind === undefined ? [] : [{ channelId, upstreamModel, kind }];
  });
}

function overdueFrom(call: WaitingCall): Overdue {
  let othersMs = -1;
  for (const [channelId, { answeredMs }] of call.pace.channels) {
    if (channelId !== call.channelId) othersMs = Math.max(othersMs, answeredMs);
  }
  return { call, limitMs: usualLimitMs(call) ?? leastLimitMs, othersMs, calls: 0, overtaken: 0 };
}

function kindOf(
  { call, calls, overtaken }: Overdue,
  nowMs: number,
): SlowChannel['kind'] | undefined {
  if (overtaken >= slowCalls) return 'slow';
  const { pace, channelId, upstreamModel } = call;
  if (calls < slowCalls) return undefined;
  if (pace.comparison !== undefined && nowMs - pace.comparison.sinceMs < comparisonMs) {
    return undefined;
  }
  const slow = { channelId, upstreamModel };
  pace.comparison = { slow, sinceMs: nowMs, isSent: false };
  return 'compared';
}
