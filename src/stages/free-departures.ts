/**
 * Decides which callers may disconnect for free before their reply has any content: those whose
 * account kept them waiting. If every early disconnect were free, callers could use up the
 * operator's upstream money without paying, so each key gets only a few an hour.
 */
import type { Clock } from '../clock.ts';
import type { RunningCall } from './running.ts';
import type { LastHeard } from './watch-attempt.ts';

/** The free disconnects of one gateway. */
export interface FreeDepartures {
  /** The activity of this model on this account, shared by all calls. */
  lastHeard(channelId: string, upstreamModel: string): LastHeard;
  /** True if a caller that disconnects now pays nothing. Each use counts against its key. */
  isFree(keyId: string, call: Pick<RunningCall, 'attempt' | 'tries'>): boolean;
}

/** A caller may disconnect for free if its account has sent nothing for this long. */
const silentMs = 10_000;
const mostFree = 3;
const hourMs = 3_600_000;
/** A bound on memory, for a catalog or key store that makes up ids. */
const mostEntries = 10_000;

/** Makes the record of free disconnects. */
export function freeDepartures(clock: Clock): FreeDepartures {
  const heard = new Map<string, LastHeard>();
  /** The times of each key's free disconnects within the last hour. */
  const departures = new Map<string, readonly number[]>();

  const isSilent = ({ attempt }: Pick<RunningCall, 'attempt'>, nowMs: number): boolean => {
    if (attempt === undefined) return false;
    const { sentMs, lastHeard } = attempt;
    return nowMs - Math.max(sentMs, lastHeard?.heardMs ?? sentMs) >= silentMs;
  };

  return {
    lastHeard: (channelId, upstreamModel) => {
      const name = `${channelId}\n${upstreamModel}`;
      const known = heard.get(name);
      if (known !== undefined) return known;
      const fresh: LastHeard = { heardMs: Number.NEGATIVE_INFINITY };
      putBounded(heard, name, fresh);
      return fresh;
    },
    isFree: (keyId, call) => {
      const nowMs = clock.monotonicMs();
      if (call.tries <= 1 && !isSilent(call, nowMs)) return false;
      const recent = (departures.get(keyId) ?? []).filter((atMs) => nowMs - atMs < hourMs);
      if (recent.length >= mostFree) return false;
      departures.delete(keyId);
      putBounded(departures, keyId, [...recent, nowMs]);
      return true;
    },
  };
}

function putBounded<T>(map: Map<string, T>, name: string, value: T): void {
  const [oldest] = map.size >= mostEntries ? map.keys() : [];
  if (oldest !== undefined) map.delete(oldest);
  map.set(name, value);
}
