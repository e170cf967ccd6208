/**
 * Creates the parts that all calls of a gateway share, and the timer of the background work, which
 * also looks after the quota store.
 */
import { fairShares } from '../bytes/body/fair-shares.ts';
import type { Clock } from '../clock.ts';
import type { DialectTable } from '../dialects/table.ts';
import { type EventEmitter, eventEmitter } from '../events/emitter.ts';
import type { EventListener, EventOf } from '../events/events.ts';
import { hostFailures, isHostFailure } from '../host/failures.ts';
import { type HostWarning, quoteOf, warningListener } from '../host/warnings.ts';
import type { Settings } from '../options.ts';
import type { QuotaStore } from '../ports/limits/quota-store.ts';
import { isWildcard } from '../ports/models/listed-model.ts';
import type { UpstreamClient } from '../ports/upstream-client.ts';
import type { Routes } from '../protocols/routes.ts';
import { type ChannelHealth, channelHealth } from '../upstream/channel-health.ts';
import { retryBudget } from '../upstream/retry-budget.ts';
import { undiciClient } from '../upstream/undici-client.ts';
import { type Cluster, clusterOf } from './cluster.ts';
import { Idempotency } from './idempotency/idempotency.ts';
import { failedKeys } from './keys/failed-keys.ts';
import { type LoopTurn, loopTurn } from './loop-turn.ts';
import { groupCheck } from './models/model-errors.ts';
import { modelPlans } from './models/model-plan.ts';
import { onceForEach } from './ports/once-for-each.ts';
import { isCheckResult, isSweepResult } from './ports/port-answers.ts';
import {
  type PortCalls,
  portCalls,
  type StoreBreakers,
  storeBreakers,
} from './ports/port-calls.ts';
import { type PortTimer, portTimer } from './ports/port-times.ts';
import { recordChecks } from './ports/record-checks.ts';
import { type Translations, translations } from './prepare/translations.ts';
import { type RefusalRecorder, refusalRecorder } from './record-refusals.ts';
import { reportingSplitIndex } from './references/references.ts';
import { reportBug } from './refuse.ts';
import { freeDisconnects } from './relay/free-disconnects.ts';
import { type RunningCalls, runningCalls } from './running.ts';
import { type Intake, type Serve, type Shared, serving } from './serve.ts';
import { type Outbox, outbox } from './settle/outbox.ts';
import { reserver } from './settle/reserve.ts';
import { settler } from './settle/settle.ts';
import { type GatewayStatus, statusOf } from './status.ts';
import { CredentialFunctions } from './upstream/credential.ts';

/** The state of a gateway that its parts read. */
export interface GatewayState {
  /** The current settings: the host may change them at any time. */
  settings(): Settings;
  /** The `Vary` header of all responses. */
  vary(): string;
  isClosed(): boolean;
}

/** The parts of a gateway that its public methods use. */
export interface GatewayParts extends BaseParts {
  /** Separate from that of replies: mixing them costs time (docs/internals/performance.md). */
  readonly endOfRequestTurn: LoopTurn;
  readonly serve: Serve;
  readonly breakers: StoreBreakers;
  readonly status: () => GatewayStatus;
  readonly stopTimer: () => void;
}

/** The parts that are also needed to create what the calls share. */
interface BaseParts {
  readonly events: EventEmitter;
  readonly upstream: UpstreamParts;
  readonly work: Work;
  readonly times: PortTimer;
}

interface UpstreamParts {
  readonly client: UpstreamClient;
  readonly health: ChannelHealth;
  readonly translations: Translations;
}

/** What has to be finished before a gateway closes. */
interface Work {
  readonly calls: RunningCalls;
  readonly outbox: Outbox;
  readonly refusals: RefusalRecorder;
  readonly cluster: Cluster;
}

const tickMs = 1_000;
/**
 * The actual bound is `maxConcurrentCalls`, which may be raised at run time, so the pool allows as
 * many sockets as one address has ports.
 */
const maxConnections = 65_535;

/** What the parts need of the gateway's tables. */
export interface PartTables {
  readonly dialects: DialectTable;
  readonly routes: Pick<Routes, 'requestsFor'>;
}

/** Creates the parts, starts the timer, and checks the quota store once. */
export function gatewayParts(
  tables: PartTables,
  client: UpstreamClient | undefined,
  state: GatewayState,
): GatewayParts {
  const { settings, isClosed } = state;
  const { clock } = settings();
  const events = eventEmitter(() => settings().onEvent, warningListener(attemptWarning));
  const { emit } = events;
  const times = portTimer();
  const ports = backgroundPorts(settings, emit, times);
  const health = channelHealth(clock, () => settings().random(), emit);
  const upstream = {
    client: client ?? undiciClient({ connections: maxConnections }),
    health,
    translations: translations((error) => reportBug(error, undefined, emit)),
  };
  const work = {
    calls: runningCalls(settings, ports, emit),
    outbox: outbox(clock),
    refusals: refusalRecorder(settings, ports, emit),
    cluster: clusterOf({ settings, health, emit, times }),
  };
  const parts: BaseParts = { events, upstream, work, times };
  const bodies = fairShares(() => settings().maxBufferedBytes);
  const settlements = settler(work.outbox, emit);
  const { settle } = settlements;
  const serve = serving(sharedByCalls(tables, parts, { bodies, settle }, state));
  const maintenance = storeMaintenance(settings, ports, emit);
  const stopTimer = startTimer(clock, parts, maintenance.tick);
  void maintenance.check();
  const known = { ...work, times, startedAtMs: clock.now(), bodies, settlements, isClosed };
  const status = (): GatewayStatus => statusOf(known);
  const breakers = storeBreakers(clock);
  return { ...parts, endOfRequestTurn: loopTurn(), serve, breakers, status, stopTimer };
}

/** Port calls with the current timeout, for work that outlives a call. */
function backgroundPorts(
  settings: () => Settings,
  emit: EventListener,
  times: PortTimer,
): PortCalls {
  return {
    ask: (port, operation, isAnswer, request) =>
      portCalls({ requestId: undefined }, settings(), emit, undefined, times).ask(
        port,
        operation,
        isAnswer,
        request,
      ),
  };
}

function sharedByCalls(
  { dialects, routes }: PartTables,
  { events: { emit }, upstream: { client, health, translations }, work, times }: BaseParts,
  { bodies, settle }: Pick<Shared, 'settle'> & Pick<Intake, 'bodies'>,
  { settings, isClosed }: GatewayState,
): Shared {
  const { clock } = settings();
  const records = recordChecks();
  return {
    upstreams: {
      client,
      health,
      translations,
      retries: retryBudget(),
      freeDisconnects: freeDisconnects(clock),
      credentialFunctions: new CredentialFunctions(),
      endOfReplyTurn: loopTurn(),
      endOfStreamTurn: loopTurn(),
      emit,
      reportRepair: onceForEach((channelId) => emit({ type: 'embedding_format', channelId })),
    },
    intake: {
      calls: work.calls,
      bodies,
      failedKeys: failedKeys(clock),
      isClosed,
    },
    records,
    requestsFor: routes.requestsFor,
    checkGroup: groupCheck(records),
    plans: modelPlans(dialects),
    idempotency: new Idempotency(emit, times),
    reserve: reserver(emit, work.outbox, clock),
    settle,
    reportUnbounded: onceForEach((modelId) => emit({ type: 'no_stated_maximum', modelId })),
    reportSplitIndex: reportingSplitIndex(emit),
  };
}

function startTimer(
  clock: Clock,
  { upstream: { health }, work: { calls, outbox, refusals, cluster }, events }: BaseParts,
  maintain: () => Promise<void>,
): () => void {
  return clock.every(tickMs, () => {
    health.tick();
    const background = [outbox.retry(), refusals.tick(), cluster.tick(), maintain()];
    const ticks = Promise.all([calls.tick(), ...background]);
    ticks.catch((error: unknown) => reportBug(error, undefined, events.emit));
  });
}

interface StoreMaintenance {
  /** Runs the store's self-test at start-up. Problems become an event. Never rejects. */
  check(): Promise<void>;
  /** Called by the gateway's timer; expires due leases when it is time. Never rejects. */
  tick(): Promise<void>;
}

const sweepEveryMs = 30_000;
const maxLeases = 1_000;

/** Reads the current settings each time, because a host may replace its store. */
function storeMaintenance(
  settings: () => Settings,
  ports: PortCalls,
  emit: EventListener,
): StoreMaintenance {
  let dueMs = settings().clock.monotonicMs() + sweepEveryMs;

  return {
    check: () => checkStore(settings().quota, ports, emit),
    tick: async () => {
      const { clock, quota, random } = settings();
      const nowMs = clock.monotonicMs();
      if (nowMs < dueMs) return;
      // Half of the wait is random, so that the processes that share a store spread out.
      dueMs = nowMs + sweepEveryMs * (0.5 + random());
      try {
        await ports.ask('quota', 'sweep', isSweepResult, (options) =>
          quota.sweep({ ...options, max: maxLeases }),
        );
      } catch {
        // `ports.ask` has reported it; calls expire the due leases of their own subjects.
      }
    },
  };
}

async function checkStore(quota: QuotaStore, ports: PortCalls, emit: EventListener): Promise<void> {
  const [port, operation] = ['quota', 'check'] as const;
  try {
    const found = await ports.ask(port, operation, isCheckResult, (options) =>
      quota.check(options),
    );
    if (found.ok) return;
    const reason = found.problems.join('; ');
    emit({ type: 'port_failed', requestId: undefined, port, operation, reason });
  } catch {
    // `ports.ask` has reported it.
  }
}

function attemptWarning(event: EventOf<'attempt_ended'>): HostWarning | undefined {
  const { reason, channelId, modelId, upstreamModel, status } = event;
  if (!isHostFailure(reason)) return undefined;
  if (reason === 'credential_unavailable') {
    return {
      code: 'TOLLGATE_CREDENTIAL_FAILED',
      about: channelId,
      message:
        `The function \`credential\` of the channel ${quoted(channelId)} ` +
        `failed${quoteOf(event)}.`,
    };
  }
  const { meaning, remedy } = hostFailures[reason];
  const received = status === undefined ? '' : `, status ${status}`;
  const isOfModel = reason === 'upstream_model_not_found';
  const name = isOfModel ? `, there ${quoted(upstreamModel)}` : '';
  return {
    code: 'TOLLGATE_UPSTREAM_FAILED',
    // Callers choose the names of a wildcard's models, and there may be any number of them.
    about: [channelId, reason, isOfModel && !isWildcard({ id: modelId }) ? upstreamModel : ''].join(
      ' ',
    ),
    message:
      `The channel ${quoted(channelId)} can't serve the model ${quoted(modelId)}${name}: ` +
      `${meaning} (${reason}${received})${quoteOf(event)}. To do: ${remedy}.`,
  };
}

function quoted(name: string): string {
  return JSON.stringify(name);
}
