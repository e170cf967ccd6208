/** What a gateway does at the moment, for readiness checks, metrics and dashboards. */
import type { FairShares } from '../bytes/body/fair-shares.ts';
import type { PortTimer, PortTimes } from './ports/port-times.ts';
import type { RunningCalls } from './running.ts';
import type { Outbox } from './settle/outbox.ts';

/** What a gateway does at the moment. All of it concerns this process alone. */
export interface GatewayStatus {
  /** Unix ms. */
  readonly startedAtMs: number;
  /** `close` was called: new calls are refused. */
  readonly isClosing: boolean;
  /** Calls from their key to the end of their reply, and whole replies that are being sent. */
  readonly runningCalls: number;
  /** The bytes of request bodies in memory, as counted against `maxBufferedBytes`. */
  readonly bufferedBytes: number;
  /** Holds of running calls. */
  readonly openHolds: number;
  /** Ends of calls that wait for a store that could not take them. */
  readonly outbox: {
    /** How many wait. */
    readonly waiting: number;
    /** How long the oldest has waited, in ms; undefined if none waits. */
    readonly oldestMs: number | undefined;
  };
  /** How long the ports take to answer. */
  readonly ports: readonly PortTimes[];
}

export interface StatusDeps {
  readonly startedAtMs: number;
  readonly calls: Pick<RunningCalls, 'count'>;
  readonly bodies: Pick<FairShares, 'taken'>;
  readonly settlements: { readonly openCount: () => number };
  readonly outbox: Pick<Outbox, 'waiting'>;
  readonly times: PortTimer;
  readonly isClosed: () => boolean;
}

export function statusOf(deps: StatusDeps): GatewayStatus {
  return {
    startedAtMs: deps.startedAtMs,
    isClosing: deps.isClosed(),
    runningCalls: deps.calls.count(),
    bufferedBytes: deps.bodies.taken(),
    openHolds: deps.settlements.openCount(),
    outbox: deps.outbox.waiting(),
    ports: deps.times.read(),
  };
}
