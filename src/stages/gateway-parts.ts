/** Creates the parts that all calls of a gateway share, and the timer of the background work. */
import { fairShares } from '../bytes/body/fair-shares.ts';
import type { Clock } from '../clock.ts';
import type { DialectTable } from '../dialects/table.ts';
import { type EventEmitter, eventEmitter } from '../event-emitter.ts';
import type { EventListener } from '../events.ts';
import { warningListener } from '../host-warnings.ts';
import type { Settings } from '../options.ts';
import type { UpstreamClient } from '../ports/upstream-client.ts';
import type { Routes } from '../protocols/routes.ts';
import { type ChannelHealth, channelHealth } from '../upstream/channel-health.ts';
import { retryBudget } from '../upstream/retry-budget.ts';
import { undiciClient } from '../upstream/undici-client.ts';
import { Idempotency } from './idempotency/idempotency.ts';
import { failedKeys } from './keys/failed-keys.ts';
import { loopTurn } from './loop-turn.ts';
import { modelPlans } from './models/model-plan.ts';
import { groupCheck } from './models/visible-models.ts';
import { onceForEach } from './ports/once-for-each.ts';
import { type PortCalls, portCalls } from './ports/port-calls.ts';
import { type PortTimer, portTimer } from './ports/port-times.ts';
import { recordChecks } from './ports/record-checks.ts';
import { type StoreBreakers, storeBreakers } from './ports/store-breaker.ts';
import { type Translations, translations } from './prepare/translations.ts';
import { type RefusalRecorder, refusalRecorder } from './record-refusals.ts';
import { reportingSplitIndex } from './references/split-index.ts';
import { reportBug } from './refuse.ts';
import { freeDisconnects } from './relay/free-disconnects.ts';
import { type RunningCalls, runningCalls } from './running.ts';
import { type Intake, type Serve, type Shared, serving } from './serve.ts';
import { type Outbox, outbox } from './settle/outbox.ts';
import { reserver } from './settle/reserve.ts';
import { settler } from './settle/settle.ts';
import { storeMaintenance } from './settle/store-maintenance.ts';
import { type GatewayStatus, statusOf } from './status.ts';
import { perKeyFunctions } from './upstream/credential.ts';

/** The state of a gateway that its parts read. */
export interface GatewayState {
  /** The current settings: the host may change them at any time. */
  settings(): Settings;
  isClosed(): boolean;
}

/** The parts of a gateway that its public methods use. */
export interface GatewayParts {
  readonly serve: Serve;
  readonly health: ChannelHealth;
  readonly calls: RunningCalls;
  readonly outbox: Outbox;
  readonly refusals: RefusalRecorder;
  readonly upstream: UpstreamClient;
  readonly breakers: StoreBreakers;
  readonly emit: EventListener;
  readonly forRequest: EventEmitter['forRequest'];
  readonly times: PortTimer;
  readonly subscribe: EventEmitter['subscribe'];
  readonly status: () => GatewayStatus;
  readonly stopTimer: () => void;
  readonly translations: Translations;
}

/** The parts that are also needed to create what the calls share. */
type BaseParts = Omit<GatewayParts, 'serve' | 'stopTimer' | 'breakers' | 'subscribe' | 'status'>;

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
  const { settings } = state;
  const { clock } = settings();
  const { emit, forRequest, subscribe } = eventEmitter(() => settings().onEvent, warningListener());
  const times = portTimer();
  const ports = backgroundPorts(settings, emit, times);
  const parts: BaseParts = {
    health: channelHealth(clock, () => settings().random(), emit),
    calls: runningCalls(settings, ports, emit),
    outbox: outbox(clock),
    refusals: refusalRecorder(settings, ports, emit),
    upstream: client ?? undiciClient({ connections: maxConnections }),
    translations: translations((error) => reportBug(error, undefined, emit)),
    times,
    emit,
    forRequest,
  };
  const bodies = fairShares(() => settings().maxBufferedBytes);
  const settlements = settler(parts.outbox, emit);
  const serve = serving(
    sharedByCalls(tables, { ...parts, bodies, settle: settlements.settle }, state),
  );
  const maintenance = storeMaintenance(settings, ports, emit);
  const stopTimer = startTimer(clock, parts, maintenance.tick);
  void maintenance.check();
  const { isClosed } = state;
  const known = { ...parts, startedAtMs: clock.now(), bodies, settlements, isClosed };
  const status = (): GatewayStatus => statusOf(known);
  return { ...parts, subscribe, status, serve, breakers: storeBreakers(clock), stopTimer };
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

/** The parts that calls use. */
type CallParts = BaseParts & Pick<Shared, 'settle'> & Pick<Intake, 'bodies'>;

function sharedByCalls(
  { dialects, routes }: PartTables,
  { upstream, health, calls, outbox: deliveries, emit, times, bodies, settle, ...parts }: CallParts,
  { settings, isClosed }: GatewayState,
): Shared {
  const { clock } = settings();
  const records = recordChecks();
  return {
    upstreams: {
      client: upstream,
      health,
      retries: retryBudget(),
      freeDisconnects: freeDisconnects(clock),
      perKeyCredentials: perKeyFunctions(),
      endOfReplyTurn: loopTurn(),
      emit,
      reportRepair: onceForEach((channelId) => emit({ type: 'embedding_format', channelId })),
      translations: parts.translations,
    },
    intake: {
      calls,
      bodies,
      failedKeys: failedKeys(clock),
      // A separate batch from that of replies: they run different code, and mixing them costs time
      // (docs/internals/performance.md).
      endOfRequestTurn: loopTurn(),
      isClosed,
    },
    records,
    requestsFor: routes.requestsFor,
    checkGroup: groupCheck(records),
    plans: modelPlans(dialects),
    idempotency: new Idempotency(emit, times),
    reserve: reserver(emit, deliveries),
    settle,
    reportUnbounded: onceForEach((modelId) => emit({ type: 'no_stated_maximum', modelId })),
    reportSplitIndex: reportingSplitIndex(emit),
  };
}

function startTimer(
  clock: Clock,
  { health, calls, outbox, refusals, emit }: BaseParts,
  maintain: () => Promise<void>,
): () => void {
  return clock.every(tickMs, () => {
    health.tick();
    const ticks = Promise.all([calls.tick(), outbox.retry(), refusals.tick(), maintain()]);
    ticks.catch((error: unknown) => reportBug(error, undefined, emit));
  });
}
