/**
 * Keeps track of the running calls: how many there are, in total and for each key, and what each
 * holds.
 */
import { type FairShares, fairShares } from '../bytes/body/fair-shares.ts';
import type { PacedReply, ReplyPieces } from '../bytes/body/paced-reply.ts';
import type { UpstreamError } from '../errors.ts';
import type { EventListener } from '../events/events.ts';
import { swallowErrors } from '../events/thrown.ts';
import type { ReplyBody } from '../http.ts';
import type { Settings } from '../options.ts';
import {
  type AttemptTimeouts,
  type AttemptWatch,
  type LastActivity,
  overdueAction as overdueActionOf,
  watchAttempt,
} from '../upstream/watch-attempt.ts';
import type { PortCalls } from './ports/port-calls.ts';
import { overloaded, tooManyConcurrentCalls } from './refuse.ts';
import type { CallerConnection } from './relay/caller-connection.ts';
import { type UnreadReplies, unreadReplies } from './relay/unread-replies.ts';
import {
  type HoldKeeper,
  type HoldKeepers,
  holdKeepers,
  type KeptCall,
  type KeptEntry,
} from './settle/keep-holds.ts';

/** A call, from its start until its reply has ended. */
export interface RunningCall {
  readonly caller: CallerConnection;
  readonly hold: HoldKeeper;
  /** `isContinued`: a further request of the latest attempt, which is no attempt of its own. */
  startAttempt(timeouts: AttemptTimeouts, lastActivity: LastActivity, isContinued?: boolean): void;
  readonly attemptCount: number;
  readonly watch: AttemptWatch | undefined;
  readonly replies: UnreadReplies;
  /** The whole reply of this call that is being sent; set by {@link sendWhole}. */
  unread: PacedReply | undefined;
  isDoneOnceSent: boolean;
  /**
   * Stops counting the call against its key's limit. The end of its hold is on the way to the
   * store, and a caller that has its reply may send the next call. Has no effect while the call
   * sends a whole reply.
   */
  stopCounting(): void;
  /** Called immediately if the call is done already. */
  onDone(giveBack: () => void): void;
  /** The call is done, or is once its whole reply has been sent. */
  done(): void;
}

/** Until it is written or its connection is closed, the call counts as running. */
export function sendWhole(call: RunningCall, pieces: ReplyPieces): ReplyBody {
  const reply = call.replies.add(pieces, () => {
    call.unread = undefined;
    call.stopCounting();
    if (call.isDoneOnceSent) call.done();
  });
  call.unread = reply;
  // The upstream's request is over. The function that would abort it holds its reply in memory.
  call.caller.onAbort(() => {});
  return reply;
}

export interface BeginningCall {
  readonly keyId: string;
  readonly caller: CallerConnection;
  /** Counts such calls of the key in this process; undefined for no limit here. */
  readonly maxConcurrentCalls: number | undefined;
  /** Its `Content-Length` is absent or at most 64 KiB. */
  readonly isSmall: boolean;
}

export interface RunningCalls {
  /**
   * Begins a call.
   *
   * @throws GatewayError `overloaded` if the gateway is at its limit, or the key at its fair share
   *   of it; `rate_limited` if the key is at its own limit
   */
  begin(call: BeginningCall): RunningCall;
  count(): number;
  idle(): Promise<void>;
  /** Ends all calls; whole replies that are not read completely are cut off. */
  abortAll(reason: UpstreamError): void;
  readonly replies: UnreadReplies;
  /** Runs the timer's work, every second. Never rejects. */
  tick(): Promise<void>;
}

interface CallList {
  readonly settings: () => Settings;
  /**
   * An array and not a Set: V8 reallocates a Set's table every few dozen calls. Once an old table
   * is in the old generation, it keeps the calls in it from the young collector.
   */
  readonly entries: Entry[];
  readonly slots: FairShares;
  readonly keys: CountsByKey;
  readonly keepers: HoldKeepers;
  readonly replies: UnreadReplies;
  whenIdle: (() => void)[];
}

export function runningCalls(
  settings: () => Settings,
  ports: PortCalls,
  emit: EventListener,
): RunningCalls {
  const keepers = holdKeepers(settings, ports, emit);
  const replies = unreadReplies(settings);
  const entries: Entry[] = [];
  const list: CallList = {
    settings,
    entries,
    slots: fairShares(() => settings().maxConcurrentCalls),
    keys: countsByKey(),
    keepers,
    replies,
    whenIdle: [],
  };
  return {
    begin: (call) => {
      takeSlot(list, call);
      const entry = new Entry(list, call);
      entries.push(entry);
      return entry;
    },
    count: () => entries.length,
    idle: () => idle(list),
    abortAll: (reason) => {
      for (const entry of [...entries]) abort(entry, reason);
    },
    replies,
    tick: () => {
      replies.tick();
      return keepers.tick(entries.map(({ hold }) => hold));
    },
  };
}

function idle(list: CallList): Promise<void> {
  if (list.entries.length === 0) return Promise.resolve();
  return new Promise((resolve) => {
    list.whenIdle.push(resolve);
  });
}

function abort({ caller, unread }: Entry, reason: UpstreamError): void {
  if (unread === undefined) caller.abort(reason);
  else swallowErrors(unread.cut);
}

function takeSlot(
  { slots, keys }: CallList,
  { keyId, maxConcurrentCalls, isSmall }: BeginningCall,
): void {
  if (!slots.take(keyId, 1, { own: 0, isSmall })) throw overloaded();
  if (maxConcurrentCalls === undefined || keys.take(keyId, maxConcurrentCalls)) return;
  slots.give(keyId, 1);
  throw tooManyConcurrentCalls();
}

class Entry implements RunningCall, KeptCall {
  readonly caller: CallerConnection;
  readonly hold: KeptEntry;
  readonly replies: UnreadReplies;
  attemptCount = 0;
  watch: AttemptWatch | undefined = undefined;
  unread: PacedReply | undefined = undefined;
  isDoneOnceSent = false;
  /** Its index in the list; undefined once it is done. */
  index: number | undefined;
  readonly #list: CallList;
  readonly #keyId: string;
  #isCounted: boolean;
  readonly #giveBacks: (() => void)[] = [];

  constructor(list: CallList, { keyId, caller, maxConcurrentCalls }: BeginningCall) {
    this.caller = caller;
    this.hold = list.keepers.begin(this);
    this.replies = list.replies;
    this.index = list.entries.length;
    this.#list = list;
    this.#keyId = keyId;
    this.#isCounted = maxConcurrentCalls !== undefined;
  }

  isRunning(): boolean {
    return this.index !== undefined;
  }

  overdueAction(nowMs: number): (() => void) | undefined {
    return this.watch === undefined ? undefined : overdueActionOf(this.watch, nowMs);
  }

  startAttempt(timeouts: AttemptTimeouts, lastActivity: LastActivity, isContinued = false): void {
    if (!isContinued) this.attemptCount += 1;
    this.hold.setTotalTimeout(timeouts.totalMs);
    const { clock, callerStallMs } = this.#list.settings();
    const { caller } = this;
    this.watch = watchAttempt({ timeouts, callerStallMs, clock, caller }, lastActivity);
  }

  onDone(giveBack: () => void): void {
    if (this.index === undefined) giveBack();
    else this.#giveBacks.push(giveBack);
  }

  stopCounting(): void {
    if (!this.#isCounted || this.unread !== undefined) return;
    this.#isCounted = false;
    this.#list.keys.give(this.#keyId);
  }

  done(): void {
    if (this.unread !== undefined) {
      this.isDoneOnceSent = true;
      return;
    }
    const { index } = this;
    if (index === undefined) return;
    this.index = undefined;
    const { entries, slots } = this.#list;
    const last = entries.pop();
    if (last !== undefined && last !== this) {
      last.index = index;
      entries[index] = last;
    }
    this.stopCounting();
    slots.give(this.#keyId, 1);
    for (let at = 0; at < this.#giveBacks.length; at += 1) this.#giveBacks[at]?.();
    if (entries.length > 0) return;
    const { whenIdle } = this.#list;
    this.#list.whenIdle = [];
    for (const resolve of whenIdle) resolve();
  }
}

interface CountsByKey {
  /** Counts one more call, if the key then has no more than `limit`. */
  take(keyId: string, limit: number): boolean;
  give(keyId: string): void;
}

function countsByKey(): CountsByKey {
  const counts = new Map<string, number>();
  return {
    take: (keyId, limit) => {
      const before = counts.get(keyId) ?? 0;
      if (before >= limit) return false;
      counts.set(keyId, before + 1);
      return true;
    },
    give: (keyId) => {
      const remaining = (counts.get(keyId) ?? 0) - 1;
      if (remaining > 0) counts.set(keyId, remaining);
      else counts.delete(keyId);
    },
  };
}
