/** The gateway: the state that its calls share, and its public methods. */
import { fairShares } from './bytes/body/fair-shares.ts';
import { type DialectTable, dialects } from './dialects/table.ts';
import { quietListener } from './events.ts';
import type { GatewayHandler } from './http.ts';
import { type GatewayOptions, type Settings, settingsOf } from './options.ts';
import type { UsageRecord } from './ports/usage-sink.ts';
import { routesOf } from './protocols/routes.ts';
import { type ProtocolTable, protocols } from './protocols/table.ts';
import { answering } from './stages/answer.ts';
import { freeDisconnects } from './stages/free-disconnects.ts';
import { idempotency } from './stages/idempotency.ts';
import { loopTurn } from './stages/loop-turn.ts';
import { modelPlans } from './stages/model-plan.ts';
import { onceForEach } from './stages/once-for-each.ts';
import { outbox } from './stages/outbox.ts';
import { portGuard } from './stages/port-guard.ts';
import { recordChecks } from './stages/record-checks.ts';
import { reportBug } from './stages/refuse.ts';
import { reserver } from './stages/reserve.ts';
import {
  type ResolveResult,
  resolveUnknown,
  type UnknownResolution,
} from './stages/resolve-unknown.ts';
import { runningCalls } from './stages/running.ts';
import { serving } from './stages/serve.ts';
import { settler } from './stages/settle.ts';
import { shutDown } from './stages/shut-down.ts';
import { storeBreakers } from './stages/store-breaker.ts';
import { storeMaintenance } from './stages/store-maintenance.ts';
import { channelHealth } from './upstream/channel-health.ts';
import type { ChannelStatus } from './upstream/channel-status.ts';
import { retryBudget } from './upstream/retry-budget.ts';
import { undiciClient } from './upstream/undici-client.ts';

/** A gateway. Adapters take it; the host keeps it to update and close it. */
export interface Gateway extends GatewayHandler {
  /**
   * Changes options immediately. Running calls keep the options with which they began.
   *
   * @throws ConfigurationError as `createGateway` does; then nothing has changed
   */
  update(change: Partial<Omit<GatewayOptions, 'upstream' | 'clock' | 'maxBufferedBytes'>>): void;
  /**
   * The health of all upstream accounts that this gateway has called, enabled or disabled, in the
   * order of their first call.
   */
  channels(): readonly ChannelStatus[];
  /** Disables a channel for all models. Its running calls continue. */
  disableChannel(channelId: string): void;
  /** Enables a channel, and clears everything recorded against it. */
  enableChannel(channelId: string): void;
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
   * (default: 10 s), delivers pending writes to the stores, flushes the usage sink and closes
   * upstream connections. Stores stay open: they belong to the host. A second call returns the same
   * promise.
   */
  close(options?: { readonly drainMs?: number }): Promise<void>;
}

const tickMs = 1_000;
/**
 * The actual bound is `maxConcurrentCalls`, which may be raised at run time, so the pool allows as
 * many sockets as one address has ports.
 */
const maxConnections = 65_535;

/**
 * Creates a gateway.
 *
 * @throws ConfigurationError that names the option and the remedy
 */
export function createGateway(options: GatewayOptions): Gateway {
  return gatewayOver({ dialects, protocols }, options);
}

/** The protocols that a gateway serves and the dialects of its upstreams. */
export interface Tables {
  readonly dialects: DialectTable;
  readonly protocols: ProtocolTable;
}

/** Creates a gateway with other tables, to test further dialects and protocols. */
export function gatewayOver(tables: Tables, options: GatewayOptions): Gateway {
  let current: GatewayOptions = options;
  let settings = settingsOf(current);
  const routes = routesOf(tables.protocols);
  let vary = routes.keyHeaders(settings).join(', ');
  let closed: Promise<void> | undefined;
  const isClosed = (): boolean => closed !== undefined;
  const { clock } = settings;
  const emit = quietListener(() => settings.onEvent);
  const backgroundGuard = portGuard(undefined, currentTimeout(), emit);
  const client = options.upstream ?? undiciClient({ connections: maxConnections });
  const { maxBufferedBytes } = settings;
  const health = channelHealth(clock, () => settings.random(), emit);
  const calls = runningCalls(() => settings, backgroundGuard, emit);
  const pendingWrites = outbox(clock, emit);
  const breakers = storeBreakers(clock);
  const care = storeMaintenance(() => settings, backgroundGuard, emit);
  const serve = serving({
    upstreams: {
      client,
      health,
      retries: retryBudget(),
      freeDisconnects: freeDisconnects(clock),
      endOfReplyTurn: loopTurn(),
      emit,
    },
    intake: {
      calls,
      bodies: fairShares(() => maxBufferedBytes),
      // A separate batch from that of replies: they run different code, and mixing them costs time
      // (docs/performance.md).
      endOfRequestTurn: loopTurn(),
      isClosed,
    },
    records: recordChecks(),
    plans: modelPlans(tables.dialects),
    idempotency: idempotency(emit),
    reserve: reserver(emit),
    settle: settler(pendingWrites, emit),
    reportUnbounded: onceForEach((modelId) => emit({ type: 'no_stated_maximum', modelId })),
  });
  const answer = answering({
    routes,
    serve,
    settings: () => settings,
    vary: () => vary,
    breakers,
    isClosed,
    emit,
  });
  const stopTimer = clock.every(tickMs, () => {
    health.tick();
    const ticks = Promise.all([calls.tick(), pendingWrites.retry(), care.tick()]);
    ticks.catch((error: unknown) => reportBug(error, undefined, emit));
  });
  void care.check();

  /** The current timeout, for work that outlives a call. */
  function currentTimeout(): Pick<Settings, 'clock' | 'storeTimeoutMs'> {
    return {
      clock,
      get storeTimeoutMs() {
        return settings.storeTimeoutMs;
      },
    };
  }

  return {
    owns: routes.owns,
    handle: answer.handle,
    refuse: answer.refuse,
    update: (change) => {
      const changed = { ...current, ...change };
      settings = { ...settingsOf(changed, settings), clock };
      vary = routes.keyHeaders(settings).join(', ');
      current = changed;
      breakers.reset();
      if (change.catalog !== undefined) health.reloaded();
    },
    channels: health.statuses,
    disableChannel: health.disable,
    enableChannel: health.enable,
    resolveUnknown: (record, resolution) =>
      resolveUnknown(record, resolution, settings, portGuard(record?.requestId, settings, emit)),
    close: ({ drainMs } = {}) => {
      const { usage } = settings;
      const deps = {
        calls,
        outbox: pendingWrites,
        usage,
        upstream: client,
        emit,
        clock,
        stopTimer,
      };
      closed ??= shutDown(drainMs, deps);
      return closed;
    },
  };
}
