/**
 * Decides when a channel is out and when it is back. A channel that recovers within a minute is not
 * out, and one that comes and goes is reported at most once in ten minutes for each of the two;
 * what is true at their end is reported then.
 */
import type { Clock } from '../clock.ts';
import type { HealthStatus } from '../events.ts';
import type { ChannelStatus } from '../upstream/channel-status.ts';
import { spanOf } from './messages.ts';

type ChannelChange = 'channel.out' | 'channel.back';

interface ChannelWatchDeps {
  readonly clock: Clock;
  readonly statuses: () => readonly ChannelStatus[];
  readonly report: (change: ChannelChange, status: ChannelStatus) => void;
}

interface Watched {
  outSinceMs: number | undefined;
  isReportedOut: boolean;
  /** The ten minutes in which each was last reported. */
  readonly reportedIn: Map<ChannelChange, number>;
}

const lookEveryMs = 1_000;
const outAfterMs = 60_000;

/** `deprioritized` still serves, and `off` is an operator's own decision. */
const outStates: ReadonlySet<HealthStatus['state']> = new Set([
  'refused',
  'open',
  'half_open',
  'cooling_down',
]);

export class ChannelWatch {
  readonly #deps: ChannelWatchDeps;
  readonly #watched = new Map<string, Watched>();
  #stopTimer: (() => void) | undefined;

  constructor(deps: ChannelWatchDeps) {
    this.#deps = deps;
  }

  /** The state of the channel, or of a model on it, has changed. */
  changed(channelId: string): void {
    if (!this.#watched.has(channelId)) {
      const fresh = { outSinceMs: undefined, isReportedOut: false, reportedIn: new Map() };
      this.#watched.set(channelId, fresh);
    }
    this.#stopTimer ??= this.#deps.clock.every(lookEveryMs, () => this.#look());
  }

  stop(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#watched.clear();
  }

  #look(): void {
    const statuses = new Map(this.#deps.statuses().map((status) => [status.channelId, status]));
    let isBusy = false;
    for (const [channelId, watched] of this.#watched) {
      const status = statuses.get(channelId);
      if (status === undefined) this.#watched.delete(channelId);
      else if (this.#judge(watched, status)) isBusy = true;
    }
    if (isBusy) return;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  /** True while the channel has to be looked at again although nothing changes. */
  #judge(watched: Watched, status: ChannelStatus): boolean {
    if (status.state === 'off') return false;
    const nowMs = this.#deps.clock.monotonicMs();
    if (!isOut(status)) {
      watched.outSinceMs = undefined;
      if (watched.isReportedOut) this.#report(watched, 'channel.back', status);
      return watched.isReportedOut;
    }
    watched.outSinceMs ??= nowMs;
    // A refused credential does not recover by itself.
    const isDue = status.state === 'refused' || nowMs - watched.outSinceMs >= outAfterMs;
    if (isDue && !watched.isReportedOut) this.#report(watched, 'channel.out', status);
    return true;
  }

  #report(watched: Watched, change: ChannelChange, status: ChannelStatus): void {
    const span = spanOf(this.#deps.clock.now());
    if (watched.reportedIn.get(change) === span) return;
    watched.reportedIn.set(change, span);
    watched.isReportedOut = change === 'channel.out';
    this.#deps.report(change, status);
  }
}

function isOut({ state, models }: ChannelStatus): boolean {
  return outStates.has(state) || models.some((model) => outStates.has(model.state));
}
