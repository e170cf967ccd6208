/**
 * Decides which callers may leave without a charge before their reply has said anything: those whom
 * an account left waiting. Whoever could leave any call for nothing could use up the operator's
 * upstream money for nothing, so each key may do so only a few times an hour.
 */
import type { Clock } from '../clock.ts';
import type { RunningCall } from './running.ts';
import type { LastHeard } from './watch-attempt.ts';

/** The departures of one gateway. */
export interface FreeDepartures {
  /** The one record of this model on this account. */
  lastHeard(channelId: string, upstreamModel: string): LastHeard;
  /** Whether a caller that leaves now owes nothing; a yes is counted against its key. */
  isFree(keyId: string, call: Pick<RunningCall, 'attempt' | 'tries'>): boolean;
}

/** Nothing from an account for so long, and its callers may go. */
const silentMs = 10_000;
const mostFree = 3;
const hourMs = 3_600_000;
/** A catalog or a key store that makes up ids must not fill the memory. */
const mostEntries = 10_000;

/** Nobody has left yet. */
export function freeDepartures(clock: Clock): FreeDepartures {
  const heard = new Map<string, LastHeard>();
  /** The moments of each key's free departures within the last hour. */
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
