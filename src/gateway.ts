/**
 * The gateway: its public methods, and the state that they change. It is closed in order: first the
 * calls, then what is still to be delivered to the stores, then the sockets.
 */

import type { Clock } from './clock.ts';
import { type DialectTable, dialects } from './dialects/table.ts';
import { UpstreamError } from './errors.ts';
import type { EventEmitter } from './events/emitter.ts';
import type { EventListener } from './events/events.ts';
import type { EventSource } from './events/filter.ts';
import type { GatewayOptions } from './gateway-options.ts';
import type { GatewayHandler } from './http.ts';
import { type Settings, settingsOf } from './options.ts';
import type { ChannelSwitch } from './ports/cluster-store.ts';
import type { Channel, Model } from './ports/models/catalog.ts';
import type { UpstreamClient } from './ports/upstream-client.ts';
import type { UsageRecord, UsageSink } from './ports/usage-sink.ts';
import { type Routes, routesOf } from './protocols/routes.ts';
import { type ProtocolTable, protocols } from './protocols/table.ts';
import { countedRepeats } from './repeats.ts';
import { answering } from './stages/answer.ts';
import { type ChannelTest, testChannel } from './stages/channel-test.ts';
import type { Cluster, ClusterStatus, SwitchPlace } from './stages/cluster.ts';
import { type GatewayParts, type GatewayState, gatewayParts } from './stages/gateway-parts.ts';
import { isAnything } from './stages/ports/port-answers.ts';
import { portCalls } from './stages/ports/port-calls.ts';
import type { RefusalRecorder } from './stages/record-refusals.ts';
import type { RunningCalls } from './stages/running.ts';
import type { Outbox } from './stages/settle/outbox.ts';
import {
  type ResolveResult,
  resolveUnknown,
  type UnknownResolution,
} from './stages/settle/resolve-unknown.ts';
import type { GatewayStatus } from './stages/status.ts';
import type { ChannelStatus } from './upstream/channel-status.ts';

/** A gateway. Adapters take it; the host keeps it to update and close it. */
export interface Gateway extends GatewayHandler, EventSource {
  /**
   * Changes options immediately. Running calls keep the options with which they began.
   *
   * @throws ConfigurationError as `createGateway` does; then nothing has changed
   */
  update(
    change: Partial<Omit<GatewayOptions, 'upstream' | 'clock' | 'maxBufferedBytes' | 'cluster'>>,
  ): void;
  /**
   * Loads what translations between APIs need, which otherwise happens when the first call is
   * translated, and takes some milliseconds then. Rejects with what could not be loaded; calls that
   * need it get 503 with an event. Also waits until the switches of `cluster` have been read.
   */
  ready(): Promise<void>;
  /** What this gateway does at the moment, in this process. Cheap enough to call every second. */
  status(): GatewayStatus;
  /**
   * The health of all channels that this gateway has called, enabled or disabled, in the order of
   * their first call.
   */
  channels(): readonly ChannelStatus[];
  /** Disables a channel for all models in this process. Its running calls continue. */
  disableChannel(channelId: string): void;
  /** Enables a channel in this process, and clears everything recorded against it. */
  enableChannel(channelId: string): void;
  /** This process and the other replicas, as far as it knows them through `cluster`. */
  cluster(): ClusterStatus;
  /**
   * Disables or enables a channel in the name of an operator: in all replicas, which follow within
   * 5 s and also after a restart, or in this process if there is no `cluster`.
   *
   * @throws GatewayError `store_unavailable`; then it can be repeated
   */
  switchChannel(change: Omit<ChannelSwitch, 'atMs'>): Promise<SwitchPlace>;
  /**
   * Sends one short call of a model through a channel, also one that is out, and for 30 s at most.
   * It costs what its upstream charges. It has no event and no usage record, no key is charged, and
   * the health of the channel stays as it is. Undefined if each API of the model costs too much for
   * a test, such as images.
   */
  testChannel(model: Model, channel: Channel): Promise<ChannelTest | undefined>;
  /**
   * Ends the hold of a call whose outcome was `unknown`, once you know it. The hold of an image
   * stays for 15 minutes; a later charge is still booked. Writes a second record of the request,
   * with the charge.
   *
   * @throws ConfigurationError if the record or the charge is invalid
   * @throws GatewayError `store_unavailable`; then it can be retried
   */
  resolveUnknown(record: UsageRecord, resolution: UnknownResolution): Promise<ResolveResult>;
  /**
   * Refuses new calls with 503, waits for running calls, ends those that still run after `drainMs`
   * (default: 10 s), delivers pending writes to the stores (a store that is down has the rest of
   * `drainMs`, at least 2 s, to recover), flushes the usage sink, closes upstream connections and
   * waits up to 10 s for the `onClose` of listeners.
   * Stores stay open: they belong to the host. A second call returns the same promise.
   */
  close(options?: {
    /** How long running calls may take to end, in ms; then they are cut off. */
    readonly drainMs?: number;
  }): Promise<void>;
}

/**
 * Creates a gateway.
 *
 * @throws ConfigurationError that names the option and the remedy
 */
export function createGateway(options: GatewayOptions): Gateway {
  return gatewayOver({ dialects, protocols }, options);
}

export interface Tables {
  readonly dialects: DialectTable;
  readonly protocols: ProtocolTable;
}

interface Current {
  options: GatewayOptions;
  settings: Settings;
  vary: string;
  closed: Promise<void> | undefined;
}

/** Creates a gateway with other tables, to test further dialects and protocols. */
export function gatewayOver(tables: Tables, options: GatewayOptions): Gateway {
  const routes = routesOf(tables.protocols);
  const settings = settingsOf(options);
  const vary = varyOf(routes, settings);
  const current: Current = { options, settings, vary, closed: undefined };
  const state: GatewayState = {
    settings: () => current.settings,
    vary: () => current.vary,
    isClosed: () => current.closed !== undefined,
  };
  const parts = gatewayParts({ dialects: tables.dialects, routes }, options.upstream, state);
  const { events, breakers, status } = parts;
  const { health, translations } = parts.upstream;
  const { cluster } = parts.work;
  const answer = answering({ routes, parts, state });
  return {
    owns: owning(routes, current, events.emit),
    handle: answer.handle,
    refuse: answer.refuse,
    update: (change) => {
      updateCurrent(current, change, routes);
      breakers.reset();
      if (change.catalog !== undefined) health.reloaded();
    },
    subscribe: events.subscribe,
    emit: events.emit,
    ready: async () => {
      await translations.loadAll(tables);
      await cluster.begun;
    },
    status,
    channels: health.statuses,
    disableChannel: health.disable,
    enableChannel: health.enable,
    cluster: cluster.status,
    switchChannel: cluster.switchChannel,
    testChannel: (model, channel) => {
      const { settings } = current;
      const open = (options: GatewayOptions): Gateway => gatewayOver(tables, options);
      return testChannel(model, channel, { settings, client: parts.upstream.client, open });
    },
    resolveUnknown: resolving(current, events.emit),
    close: ({ drainMs } = {}) => closeOnce(current, parts, drainMs),
  };
}

const passedIntervalMs = 60_000;

/** Reports misplaced paths that go to the host, so that a flood of them does not flood a log. */
function owning(routes: Routes, current: Current, emit: EventListener): Gateway['owns'] {
  const { clock } = current.settings;
  const repeats = countedRepeats(passedIntervalMs, () => clock.monotonicMs());
  return (path, method, isBelowPrefix) => {
    const { settings } = current;
    const isOwn = routes.owns(path, settings, method, isBelowPrefix);
    // Only adapters state that it is not, just before they pass the request on.
    if (isOwn || isBelowPrefix !== false) return isOwn;
    const passed = routes.passedOn(path, settings, method);
    const requests = passed && repeats(passed.requested);
    if (passed === undefined || requests === undefined) return false;
    const { requested, intended, remedy } = passed;
    emit({ type: 'path_misplaced', path: requested, servedAt: intended, remedy, requests });
    return false;
  };
}

function closeOnce(
  current: Current,
  parts: GatewayParts,
  drainMs: number | undefined,
): Promise<void> {
  const { usage, clock } = current.settings;
  const { events, upstream, work, stopTimer } = parts;
  const deps = { ...work, usage, upstream: upstream.client, events, clock, stopTimer };
  current.closed ??= shutDown(drainMs, deps);
  return current.closed;
}

function resolving(current: Current, emit: EventListener): Gateway['resolveUnknown'] {
  return (record, resolution) => {
    const ports = portCalls({ requestId: record?.requestId }, current.settings, emit);
    return resolveUnknown(record, resolution, current.settings, { ports, emit });
  };
}

/** Changes nothing if an option is invalid. */
function updateCurrent(current: Current, change: Partial<GatewayOptions>, routes: Routes): void {
  const options = { ...current.options, ...change };
  const { clock } = current.settings;
  const settings = { ...settingsOf(options, current.settings), clock };
  current.vary = varyOf(routes, settings);
  current.settings = settings;
  current.options = options;
}

function varyOf(routes: Routes, settings: Settings): string {
  return routes.varyingHeaders(settings).join(', ');
}

interface ShutDownDeps {
  readonly calls: RunningCalls;
  readonly outbox: Outbox;
  readonly refusals: Pick<RefusalRecorder, 'flush' | 'abandon'>;
  readonly cluster: Pick<Cluster, 'leave'>;
  readonly usage: UsageSink | undefined;
  readonly upstream: UpstreamClient;
  readonly events: Pick<EventEmitter, 'emit' | 'closeListeners'>;
  readonly clock: Clock;
  readonly stopTimer: () => void;
}

const defaultDrainMs = 10_000;
/** The longest delay of a timer, 24 days: `Infinity` would make it fire immediately. */
const maxDrainMs = 2 ** 31 - 1;
/** How long calls that were cut, and stores that are down, may take to finish. */
const graceMs = 2_000;
const retryMs = 500;
/** How long a usage sink may take to write what it has buffered. */
const flushMs = 10_000;
const listenersMs = 10_000;

/**
 * Lets running calls finish for `drainMs`, cuts the rest with an error in their dialect, and closes
 * the gateway's resources. A store that is down has the rest of that time to recover. Never
 * rejects: a sink that can't be flushed is reported.
 */
async function shutDown(drainMs: number | undefined, deps: ShutDownDeps): Promise<void> {
  const { calls, outbox, refusals, cluster, usage, upstream, events, clock, stopTimer } = deps;
  const ports = portCalls(
    { requestId: undefined },
    { clock, storeTimeoutMs: flushMs },
    events.emit,
  );
  const drainUntilMs = clock.monotonicMs() + drainWaitMs(drainMs);
  await waitAtMost(drainWaitMs(drainMs), calls.idle(), clock);
  calls.abortAll(new UpstreamError('body', 'draining'));
  await waitAtMost(graceMs, calls.idle(), clock);
  stopTimer();
  const leftMs = drainUntilMs - clock.monotonicMs();
  await deliver(outbox, Math.max(leftMs, graceMs), clock);
  outbox.abandon();
  await waitAtMost(graceMs, Promise.all([refusals.flush(), cluster.leave()]), clock);
  try {
    await ports.ask('usage', 'close', isAnything, () => usage?.close());
  } catch {
    // `ports.ask` has reported it.
  }
  await waitAtMost(graceMs, closeClient(upstream), clock);
  refusals.abandon();
  // Last, because all of the above may emit events.
  await waitAtMost(listenersMs, events.closeListeners(), clock);
}

function drainWaitMs(drainMs: number = defaultDrainMs): number {
  const waitMs = Math.min(Math.max(drainMs, 1), maxDrainMs);
  return Number.isNaN(waitMs) ? defaultDrainMs : waitMs;
}

async function deliver(outbox: Outbox, forMs: number, clock: Clock): Promise<void> {
  const untilMs = clock.monotonicMs() + forMs;
  for (;;) {
    await waitAtMost(Math.max(1, untilMs - clock.monotonicMs()), outbox.flush(), clock);
    const leftMs = untilMs - clock.monotonicMs();
    if (leftMs <= 0 || outbox.waiting().waiting === 0) return;
    await waitAtMost(Math.min(retryMs, leftMs), new Promise(() => {}), clock);
  }
}

async function closeClient(upstream: UpstreamClient): Promise<void> {
  try {
    await upstream.close();
  } catch {
    // A host's own client failed to close; the gateway can't do more.
  }
}

function waitAtMost(waitMs: number, done: Promise<unknown>, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.every(waitMs, () => {
      stop();
      resolve();
    });
    void done.then(() => {
      stop();
      resolve();
    });
  });
}
