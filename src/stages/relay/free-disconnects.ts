/**
 * Decides which callers may disconnect for free before their reply has any content: those whose
 * account kept them waiting. If every early disconnect were free, callers could use up the
 * operator's upstream money without paying, so each key gets only a few an hour.
 */
import type { Clock } from '../../clock.ts';
import type { LastActivity } from '../../upstream/watch-attempt.ts';
import type { RunningCall } from '../running.ts';

export interface FreeDisconnects {
  /** `name`: of a model on an account. */
  lastActivity(name: string): LastActivity;
  /** True if a caller that disconnects now pays nothing. Each use counts against its key. */
  isFree(keyId: string, call: Pick<RunningCall, 'watch' | 'attemptCount'>): boolean;
}

/** A caller may disconnect for free if its account has sent nothing for this long. */
const maxSilenceMs = 10_000;
const maxFreePerHour = 3;
const hourMs = 3_600_000;
/** Bounds the memory, because a host's catalog or key store may return ever new ids. */
const maxEntries = 10_000;

export function freeDisconnects(clock: Clock): FreeDisconnects {
  const activities = new Map<string, LastActivity>();
  /** The times of each key's free disconnects within the last hour. */
  const disconnectTimes = new Map<string, readonly number[]>();

  const isSilent = ({ watch }: Pick<RunningCall, 'watch'>, nowMs: number): boolean => {
    if (watch === undefined) return false;
    const { sentMs, lastActivity } = watch;
    return nowMs - Math.max(sentMs, lastActivity?.atMs ?? sentMs) >= maxSilenceMs;
  };

  return {
    lastActivity: (name) => {
      const known = activities.get(name);
      if (known !== undefined) return known;
      const fresh: LastActivity = { atMs: Number.NEGATIVE_INFINITY };
      putBounded(activities, name, fresh);
      return fresh;
    },
    isFree: (keyId, call) => {
      const nowMs = clock.monotonicMs();
      if (call.attemptCount <= 1 && !isSilent(call, nowMs)) return false;
      const recent = (disconnectTimes.get(keyId) ?? []).filter((atMs) => nowMs - atMs < hourMs);
      if (recent.length >= maxFreePerHour) return false;
      disconnectTimes.delete(keyId);
      putBounded(disconnectTimes, keyId, [...recent, nowMs]);
      return true;
    },
  };
}

function putBounded<T>(map: Map<string, T>, name: string, value: T): void {
  const [oldest] = map.size >= maxEntries ? map.keys() : [];
  if (oldest !== undefined) map.delete(oldest);
  map.set(name, value);
}
