/**
 * One replica among others: follows the switches of channels that operators set for all of them,
 * and reports its own channels. No call waits for it, and a store that fails changes nothing.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { pid } from 'node:process';
import type { EventListener } from '../events/events.ts';
import type { Settings } from '../options.ts';
import { packageVersion } from '../package-version.ts';
import type { MaybePromise } from '../ports/call-options.ts';
import type {
  ChannelSwitch,
  ClusterStore,
  ClusterView,
  Replica,
  ReplicaChannel,
} from '../ports/cluster-store.ts';
import type { ChannelHealth } from '../upstream/channel-health.ts';
import type { ChannelStatus } from '../upstream/channel-status.ts';
import { type AnswerCheck, isAnything, isRecord } from './ports/port-answers.ts';
import { type PortCalls, portCalls } from './ports/port-calls.ts';
import type { PortTimer } from './ports/port-times.ts';

/** What this process knows of all replicas. */
export interface ClusterStatus extends ClusterView {
  /** Whether there is a store, through which the replicas share switches. */
  readonly isShared: boolean;
  /** This process. Without a store, it is the only replica. */
  readonly self: Replica;
  /** Unix ms at which the store was last read; undefined if it never was. */
  readonly readAtMs: number | undefined;
}

/** Where a switch holds: in all replicas, or without a store in this process. */
export type SwitchPlace = 'process' | 'everywhere';

export interface Cluster {
  status(): ClusterStatus;
  /** @throws GatewayError `store_unavailable`; then it may have been set */
  switchChannel(change: Omit<ChannelSwitch, 'atMs'>): Promise<SwitchPlace>;
  /** The switches were read for the first time, or could not be. Never rejects. */
  readonly begun: Promise<void>;
  /** Called by the gateway's timer every second. Never rejects. */
  tick(): Promise<void>;
  /** Deletes its report. Never rejects. */
  leave(): Promise<void>;
}

const readEveryMs = 2_000;
const reportEveryMs = 6_000;
/** Replicas must agree within 5 s, also if a read gets no answer. */
const timeoutMs = 2_000;
const maxChannels = 200;

interface ClusterDeps {
  readonly settings: () => Settings;
  readonly health: Pick<ChannelHealth, 'statuses' | 'enable' | 'disable'>;
  readonly emit: EventListener;
  readonly times: PortTimer;
}

export function clusterOf(deps: ClusterDeps): Cluster {
  const { settings, health } = deps;
  const { cluster: store, clock } = settings();
  const about = { id: randomUUID(), host: hostname(), pid, version: packageVersion };
  const startedAtMs = clock.now();
  const self = (): Replica => {
    const channels = channelsOf(health.statuses());
    return { ...about, startedAtMs, seenAtMs: clock.now(), channels };
  };
  if (store === undefined) return alone(health, self);
  const member = new Member(store, deps, self);
  return {
    status: () => ({ ...member.view(), isShared: true, self: self() }),
    switchChannel: async (change) => {
      await member.switchChannel(change);
      return 'everywhere';
    },
    begun: member.follow(),
    tick: () => member.tick(),
    leave: () => member.leave(),
  };
}

function alone(health: ClusterDeps['health'], self: () => Replica): Cluster {
  const nothing = async (): Promise<void> => {};
  return {
    status: () => {
      const own = self();
      return { isShared: false, self: own, replicas: [own], switches: [], readAtMs: undefined };
    },
    switchChannel: async ({ channelId, isOff }) => {
      if (isOff) health.disable(channelId);
      else health.enable(channelId);
      return 'process';
    },
    begun: nothing(),
    tick: nothing,
    leave: nothing,
  };
}

/** A replica with a store, which it calls one call after another. */
class Member {
  readonly #store: ClusterStore;
  readonly #deps: ClusterDeps;
  readonly #self: () => Replica;
  readonly #ports: PortCalls;
  /** The switches that were applied, by channel. */
  readonly #applied = new Map<string, ChannelSwitch>();
  #replicas: readonly Replica[] = [];
  #readAtMs: number | undefined;
  #readDueMs = 0;
  #reportDueMs = 0;
  #last: Promise<unknown> = Promise.resolve();
  #reporting: Promise<void> | undefined;
  #isReading = false;
  #hasLeft = false;
  /** The operations that failed the last time: an outage is reported once. */
  readonly #failing = new Set<string>();

  constructor(store: ClusterStore, deps: ClusterDeps, self: () => Replica) {
    const { settings, emit, times } = deps;
    this.#store = store;
    this.#deps = deps;
    this.#self = self;
    const once: EventListener = (event) => {
      if (event.type !== 'port_failed' || this.#failing.has(event.operation)) return;
      this.#failing.add(event.operation);
      emit(event);
    };
    const { clock } = settings();
    const user = { requestId: undefined };
    this.#ports = portCalls(user, { clock, storeTimeoutMs: timeoutMs }, once, undefined, times);
  }

  view(): Pick<ClusterStatus, 'replicas' | 'switches' | 'readAtMs'> {
    const self = this.#self();
    const others = this.#replicas.filter(({ id }) => id !== self.id);
    const switches = [...this.#applied.values()];
    return { replicas: [self, ...others], switches, readAtMs: this.#readAtMs };
  }

  async switchChannel(change: Omit<ChannelSwitch, 'atMs'>): Promise<void> {
    await this.#next(async () => {
      const made = await this.#ask('switchChannel', isSwitch, (options) =>
        this.#store.switchChannel(change, options),
      );
      this.#apply(made, { isNew: true });
    });
  }

  /** Reads the switches and the replicas, and applies the switches. Never rejects. */
  async follow(): Promise<void> {
    const { clock } = this.#deps.settings();
    this.#readDueMs = clock.monotonicMs() + readEveryMs;
    this.#isReading = true;
    const read = async (): Promise<void> => {
      const view = await this.#ask('read', isView, (options) => this.#store.read(options));
      const isNew = this.#readAtMs !== undefined;
      this.#readAtMs = clock.now();
      this.#replicas = view.replicas;
      for (const one of view.switches) this.#apply(one, { isNew });
    };
    await this.#next(read).catch(ignore);
    this.#isReading = false;
  }

  async tick(): Promise<void> {
    const nowMs = this.#deps.settings().clock.monotonicMs();
    if (nowMs >= this.#reportDueMs && this.#reporting === undefined && !this.#hasLeft) {
      this.#reportDueMs = nowMs + reportEveryMs;
      this.#reporting = this.#report();
    }
    if (nowMs >= this.#readDueMs && !this.#isReading) await this.follow();
    await this.#reporting;
  }

  async #report(): Promise<void> {
    const { seenAtMs: _, ...report } = this.#self();
    await this.#ask('report', isAnything, (options) => this.#store.report(report, options)).catch(
      ignore,
    );
    this.#reporting = undefined;
  }

  async leave(): Promise<void> {
    this.#hasLeft = true;
    await this.#reporting;
    const { id } = this.#self();
    await this.#ask('leave', isAnything, (options) => this.#store.leave(id, options)).catch(ignore);
  }

  /**
   * Each switch is applied once, so that a host can still enable a channel in one process. When a
   * replica begins, its channels have no failures that a switch could clear.
   */
  #apply(made: ChannelSwitch, { isNew }: { readonly isNew: boolean }): void {
    const { channelId, isOff, actor, atMs } = made;
    const known = this.#applied.get(channelId);
    if (known?.atMs === atMs && known.isOff === isOff && known.actor === actor) return;
    this.#applied.set(channelId, made);
    if (isOff) this.#deps.health.disable(channelId);
    else if (isNew) this.#deps.health.enable(channelId);
  }

  async #ask<T>(
    operation: string,
    isAnswer: AnswerCheck,
    request: (options: { readonly timeoutMs: number }) => MaybePromise<T>,
  ): Promise<T> {
    const answer = await this.#ports.ask('cluster', operation, isAnswer, request);
    this.#failing.delete(operation);
    return answer;
  }

  /** One after another: an old view that arrives late must not undo a switch. */
  #next<T>(step: () => Promise<T>): Promise<T> {
    const running = this.#last.then(step);
    this.#last = running.catch(ignore);
    return running;
  }
}

const isSwitch: AnswerCheck = (answer) => {
  if (!isRecord(answer)) return false;
  const { channelId, isOff, actor, atMs } = answer;
  const areTexts = typeof channelId === 'string' && typeof actor === 'string';
  return areTexts && typeof isOff === 'boolean' && typeof atMs === 'number';
};

const isView: AnswerCheck = (answer) => {
  if (!isRecord(answer)) return false;
  const { replicas, switches } = answer;
  return Array.isArray(replicas) && Array.isArray(switches) && switches.every(isSwitch);
};

/** `ports.ask` has reported it. */
function ignore(): void {}

/** Those that are not ready, or have a model that is not, and no more than fit into a row. */
function channelsOf(statuses: readonly ChannelStatus[]): readonly ReplicaChannel[] {
  return statuses
    .flatMap(({ channelId, state, reason, untilMs, models }): readonly ReplicaChannel[] => [
      { channelId, upstreamModel: undefined, state, reason, untilMs },
      ...models.map((model) => ({ channelId, ...model })),
    ])
    .filter(({ state }) => state !== 'ready')
    .slice(0, maxChannels);
}
