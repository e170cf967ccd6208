/**
 * What a gateway has not given back although its upstream and its callers are gone: running calls,
 * places of channels, holds, timers, and the memory of bodies. `fail-on-leftovers.ts` fails a test
 * that leaves something in a gateway in process.
 */
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../../src/clock.ts';
import type { Gateway } from '../../../src/gateway.ts';
import type { QuotaStore } from '../../../src/ports/limits/quota-store.ts';

/** How many of something are left. */
export type Count = readonly [what: string, count: number];

/** A gateway of the current test. */
export interface WatchedGateway {
  readonly gateway: Gateway;
  /** What the parts around the gateway still have of it. */
  readonly others: () => readonly Count[];
  /** Ends the upstream calls and the callers that the test has left. */
  readonly abandon: () => void;
}

const watched: WatchedGateway[] = [];

/** Checks this gateway at the end of the test. */
export function watchGateway(gateway: WatchedGateway): void {
  watched.push(gateway);
}

/** What the gateways of this test have left. */
export async function takeLeftovers(): Promise<readonly Count[]> {
  const all = await Promise.all(watched.splice(0).map(leftIn));
  return all.flat();
}

/** Enough turns of the event loop for any call to end whose upstream and caller are gone. */
const maxTurns = 50;

/** What a gateway has left. A test that waited for everything has nothing to wait for here. */
export async function leftIn(one: WatchedGateway): Promise<readonly Count[]> {
  let left = countsOf(one);
  if (left.length === 0) return left;
  one.abandon();
  for (let turn = 0; turn < maxTurns && left.length > 0; turn += 1) {
    await setImmediate();
    left = countsOf(one);
  }
  return left;
}

function countsOf({ gateway, others }: WatchedGateway): readonly Count[] {
  const { runningCalls, bufferedBytes, openHolds } = gateway.status();
  const counts: readonly Count[] = [
    ['running calls', runningCalls],
    ['bytes of bodies', bufferedBytes],
    ['open settlements', openHolds],
    ...gateway.channels().map((one): Count => [`calls on ${one.channelId}`, one.inFlight]),
    ...others(),
  ];
  return counts.filter(([, count]) => count !== 0);
}

/** A clock of which the running timers are counted. */
export interface CountedClock {
  readonly clock: Clock;
  readonly timers: () => number;
}

/** Counts the timers. */
export function countedClock(clock: Clock): CountedClock {
  const timers = new Set<() => void>();
  return {
    timers: () => timers.size,
    clock: {
      ...clock,
      every: (intervalMs, tick) => {
        const stopTimer = clock.every(intervalMs, tick);
        const stop = (): void => {
          timers.delete(stop);
          stopTimer();
        };
        timers.add(stop);
        return stop;
      },
    },
  };
}

/** A quota store of which the holds are noted. */
export interface NotedHolds {
  readonly quota: QuotaStore;
  /** What the store holds for calls that are not in doubt, and what it counts as running. */
  readonly left: () => readonly Count[];
}

/** Notes the holds of a store that answers immediately. */
export function notedHolds(store: QuotaStore): NotedHolds {
  const rows = new Map<string, () => ReturnType<QuotaStore['read']>>();
  const inDoubt = new Set<string>();
  const rowOf = (subject: string, period: string, partition: string): void => {
    const row = `${partition} ${subject} ${period}`;
    if (!rows.has(row)) rows.set(row, () => store.read(subject, period, partition));
  };
  const heldIn = ([row, read]: readonly [string, () => unknown]): readonly Count[] => {
    const state = read();
    if (!isState(state)) return [];
    const held = inDoubt.size === 0 ? Number(state.held) : 0;
    return [
      [`calls in flight of ${row}`, state.inFlight],
      [`nanos held of ${row}`, held],
    ];
  };
  return {
    quota: {
      ...store,
      reserve: (input, options) => {
        for (const { subject, period } of input.lines) rowOf(subject, period, input.partition);
        return store.reserve(input, options);
      },
      extend: (inputs, options) => {
        for (const { id, idle } of inputs) if (idle === true) inDoubt.add(id);
        return store.extend(inputs, options);
      },
      settle: (input, options) => {
        inDoubt.delete(input.id);
        return store.settle(input, options);
      },
    },
    left: () => [...rows].flatMap(heldIn),
  };
}

function isState(state: unknown): state is { readonly held: bigint; readonly inFlight: number } {
  return typeof state === 'object' && state !== null && 'held' in state;
}
