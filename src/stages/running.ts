/** The calls that are running: how many there are, for each key and in all, and what each holds. */
import { fairShares } from '../bytes/body/fair-shares.ts';
import type { UpstreamError } from '../errors.ts';
import type { EventListener } from '../events.ts';
import type { Settings } from '../options.ts';
import { type Disconnect, disconnect } from './disconnect.ts';
import { type HoldKeeper, holdKeepers, type KeptEntry } from './keep-holds.ts';
import type { PortGuard } from './port-guard.ts';
import { overloaded, tooManyInFlight } from './refuse.ts';
import {
  type AttemptWatch,
  overdue as isLate,
  type LastHeard,
  type Waits,
  watchAttempt,
} from './watch-attempt.ts';

/** One call, from the moment it was admitted to the end of its reply. */
export interface RunningCall {
  /** Whoever waits for it. */
  readonly caller: Disconnect;
  /** Whoever keeps its hold. */
  readonly hold: HoldKeeper;
  /** Notes that it goes out now, to a channel that allows it these waits. */
  send(waits: Waits, lastHeard: LastHeard): void;
  /** How many channels it has gone out to. */
  readonly tries: number;
  /** The watch of the try that went out last, undefined while nothing has. */
  readonly attempt: AttemptWatch | undefined;
  /**
   * From now on the call no longer counts against its key's limit: the end of its hold is on its
   * way to the store, and a caller that has its reply may send the next call.
   */
  uncount(): void;
  /** What else to give back once the call is done; at once where it is done already. */
  onDone(giveBack: () => void): void;
  done(): void;
}

/** A call that wants to begin, before its body is read. */
export interface BeginningCall {
  readonly keyId: string;
  /**
   * How many such calls of the key may run at once in this process; undefined: not limited here.
   */
  readonly maxConcurrentCalls: number | undefined;
  /** It has not announced a body above 64 KiB. */
  readonly isSmall: boolean;
}

/** All of them. */
export interface RunningCalls {
  /**
   * A new call.
   *
   * @throws GatewayError `overloaded` where the gateway is full, or the key has its share of it;
   *   `rate_limited` where as many calls of the key run as may
   */
  begin(call: BeginningCall): RunningCall;
  /** Resolves once nothing runs. */
  idle(): Promise<void>;
  abortAll(reason: UpstreamError): void;
  /** What the timer does, every second. Never rejects. */
  tick(): Promise<void>;
}

/** A call among the others. */
interface Entry extends RunningCall {
  readonly hold: KeptEntry;
  /** Where it stands; undefined once it is done. */
  place: number | undefined;
  tries: number;
  attempt: AttemptWatch | undefined;
  isCounted: boolean;
  readonly giveBacks: (() => void)[];
}

/** No calls yet. `guard` asks the quota store on behalf of all of them. */
export function runningCalls(
  settings: () => Settings,
  guard: PortGuard,
  emit: EventListener,
): RunningCalls {
  // No Set: V8 makes it a new table every few dozen calls, and the old ones, once they are in the
  // old generation, keep every call that stood in them from the young collector.
  const entries: Entry[] = [];
  const slots = fairShares(() => settings().maxConcurrentCalls);
  const keys = countsByKey();
  const keepers = holdKeepers(settings, guard, emit);
  let whenIdle: (() => void)[] = [];

  const remove = (entry: Entry): void => {
    const { place } = entry;
    if (place === undefined) return;
    entry.place = undefined;
    const last = entries.pop();
    if (last !== undefined && last !== entry) {
      last.place = place;
      entries[place] = last;
    }
    entry.uncount();
    for (const giveBack of entry.giveBacks) giveBack();
    if (entries.length > 0) return;
    for (const resolve of whenIdle) resolve();
    whenIdle = [];
  };

  const take = ({ keyId, maxConcurrentCalls, isSmall }: BeginningCall): void => {
    if (!slots.take(keyId, 1, { own: 0, isSmall })) throw overloaded();
    if (maxConcurrentCalls === undefined || keys.take(keyId, maxConcurrentCalls)) return;
    slots.give(keyId, 1);
    throw tooManyInFlight();
  };

  const begin = (call: BeginningCall): RunningCall => {
    take(call);
    const { keyId, maxConcurrentCalls } = call;
    const caller = disconnect();
    const entry: Entry = {
      caller,
      hold: keepers.begin({
        caller,
        isRunning: () => entry.place !== undefined,
        overdue: (nowMs) =>
          entry.attempt === undefined ? undefined : isLate(entry.attempt, nowMs),
      }),
      place: entries.length,
      tries: 0,
      attempt: undefined,
      isCounted: maxConcurrentCalls !== undefined,
      giveBacks: [() => slots.give(keyId, 1)],
      send: (waits, lastHeard) => {
        entry.tries += 1;
        entry.hold.allow(waits.totalMs);
        const { clock, callerStallMs } = settings();
        // Only the try ends: the next one must not find the call aborted.
        const end = caller.endTry;
        entry.attempt = watchAttempt({ waits, callerStallMs, clock, end }, lastHeard);
      },
      onDone: (giveBack) => {
        if (entry.place !== undefined) entry.giveBacks.push(giveBack);
        else giveBack();
      },
      uncount: () => {
        if (!entry.isCounted) return;
        entry.isCounted = false;
        keys.give(keyId);
      },
      done: () => remove(entry),
    };
    entries.push(entry);
    return entry;
  };

  return {
    begin,
    idle: () =>
      entries.length === 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            whenIdle.push(resolve);
          }),
    abortAll: (reason) => {
      for (const { caller } of [...entries]) caller.abort(reason);
    },
    tick: () => keepers.tick(entries.map(({ hold }) => hold)),
  };
}

/** How many calls of each key run. */
interface CountsByKey {
  /** Counts one more, if that makes no more than `most`. */
  take(keyId: string, most: number): boolean;
  give(keyId: string): void;
}

function countsByKey(): CountsByKey {
  const counts = new Map<string, number>();
  return {
    take: (keyId, most) => {
      const before = counts.get(keyId) ?? 0;
      if (before >= most) return false;
      counts.set(keyId, before + 1);
      return true;
    },
    give: (keyId) => {
      const left = (counts.get(keyId) ?? 0) - 1;
      if (left > 0) counts.set(keyId, left);
      else counts.delete(keyId);
    },
  };
}
