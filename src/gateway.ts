/** The gateway: what its calls share, and how a host changes and ends it. */
import { fairShares } from './bytes/body/fair-shares.ts';
import { type DialectTable, dialects } from './dialects/table.ts';
import { GatewayError } from './errors.ts';
import { quietListener } from './events.ts';
import type { GatewayHandler } from './http.ts';
import { type GatewayOptions, type Settings, settingsOf } from './options.ts';
import type { UsageRecord } from './ports/usage-sink.ts';
import { openaiCaller } from './protocols/callers/openai.ts';
import type { Caller } from './protocols/protocol.ts';
import { routesOf } from './protocols/routes.ts';
import { type ProtocolTable, protocols } from './protocols/table.ts';
import { freeDisconnects } from './stages/free-disconnects.ts';
import { idempotency } from './stages/idempotency.ts';
import { loopTurn } from './stages/loop-turn.ts';
import { modelPlans } from './stages/model-plan.ts';
import { onceForEach } from './stages/once-for-each.ts';
import { outbox } from './stages/outbox.ts';
import { portGuard } from './stages/port-guard.ts';
import { recordChecks } from './stages/record-checks.ts';
import { readableError, reportBug } from './stages/refuse.ts';
import { reserver } from './stages/reserve.ts';
import {
  type ResolveResult,
  resolveUnknown,
  type UnknownResolution,
} from './stages/resolve-unknown.ts';
import { errorResponse, lastOnConnection, responseContextFor } from './stages/respond.ts';
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

/** A gateway. Adapters take it; the host keeps it to change and to close it. */
export interface Gateway extends GatewayHandler {
  /**
   * Swaps options at once. Calls in flight finish on the snapshot they began with.
   *
   * @throws ConfigurationError as `createGateway` does; nothing has changed then
   */
  update(change: Partial<Omit<GatewayOptions, 'upstream' | 'clock' | 'maxBufferedBytes'>>): void;
  /**
   * How the upstream accounts stand that this gateway has called or switched, in the order of their
   * first call.
   */
  channels(): readonly ChannelStatus[];
  /** Takes a channel out of service, for all models. Calls that run through it run on. */
  disableChannel(channelId: string): void;
  /** Puts a channel back, with everything forgotten that was recorded against it. */
  enableChannel(channelId: string): void;
  /**
   * Ends the hold of a call whose outcome was `unknown`, once you know what became of it: the hold
   * of an image stays for 15 minutes, and is charged late after that. Writes a second record of the
   * request, with the charge.
   *
   * @throws ConfigurationError where the record or the charge is not one
   * @throws GatewayError `store_unavailable`; it can be tried again
   */
  resolveUnknown(record: UsageRecord, resolution: UnknownResolution): Promise<ResolveResult>;
  /**
   * Refuses new calls with 503, lets running ones end, cuts those that still run after `drainMs`
   * (10 s where left out), delivers what the stores are owed, flushes the usage sink and closes the
   * upstream's sockets. Stores are the host's, and stay open. A second call waits for the first.
   */
  close(options?: { readonly drainMs?: number }): Promise<void>;
}

const tickMs = 1_000;
/**
 * `maxConcurrentCalls` is the bound, and may be raised while the gateway runs: the pool has room
 * for as many sockets as one address has ports.
 */
const mostConnections = 65_535;

/**
 * Makes a gateway.
 *
 * @throws ConfigurationError that names the option and the cure
 */
export function createGateway(options: GatewayOptions): Gateway {
  return gatewayOver({ dialects, protocols }, options);
}

/** What a gateway serves, and by which upstreams. */
export interface Tables {
  readonly dialects: DialectTable;
  readonly protocols: ProtocolTable;
}

/** The same over other tables: what a dialect or a protocol of the future is tested with. */
export function gatewayOver(tables: Tables, options: GatewayOptions): Gateway {
  let current: GatewayOptions = options;
  let settings = settingsOf(current);
  const routes = routesOf(tables.protocols);
  let vary = routes.keyHeaders(settings).join(', ');
  let closed: Promise<void> | undefined;
  const { clock } = settings;
  const emit = quietListener(() => settings.onEvent);
  const ownGuard = portGuard(undefined, liveTimeout(), emit);
  const client = options.upstream ?? undiciClient({ connections: mostConnections });
  const { maxBufferedBytes } = settings;
  const health = channelHealth(clock, () => settings.random(), emit);
  const calls = runningCalls(() => settings, ownGuard, emit);
  const unsettled = outbox(clock, emit);
  const breakers = storeBreakers(clock);
  const care = storeMaintenance(() => settings, ownGuard, emit);
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
      // Apart from that of replies, which go through different code.
      endOfRequestTurn: loopTurn(),
      isClosed: () => closed !== undefined,
    },
    records: recordChecks(),
    plans: modelPlans(tables.dialects),
    idempotency: idempotency(emit),
    reserve: reserver(emit),
    settle: settler(unsettled, emit),
    reportUnbounded: onceForEach((modelId) => emit({ type: 'no_stated_maximum', modelId })),
  });
  const stopTimer = clock.every(tickMs, () => {
    health.tick();
    const ticks = Promise.all([calls.tick(), unsettled.retry(), care.tick()]);
    ticks.catch((error: unknown) => reportBug(error, undefined, emit));
  });
  void care.check();

  /** The deadline of the moment, for what outlives one call. */
  function liveTimeout(): Pick<Settings, 'clock' | 'storeTimeoutMs'> {
    return {
      clock,
      get storeTimeoutMs() {
        return settings.storeTimeoutMs;
      },
    };
  }

  return {
    owns: routes.owns,
    handle: async (request) => {
      const context = responseContextFor(request, settings, vary);
      let caller: Caller = openaiCaller;
      let isBoughtOnce = false;
      try {
        const route = routes.find(request, settings);
        caller = route.caller;
        isBoughtOnce = route.kind === 'call' && route.operation.isBoughtOnce;
        const guard = portGuard(context.requestId, settings, emit, breakers);
        const response = await serve({ request, responseContext: context, settings, guard }, route);
        return closed === undefined ? response : lastOnConnection(response);
      } catch (error) {
        return errorResponse(
          context,
          readableError(error, context.requestId, emit),
          caller,
          isBoughtOnce,
        );
      }
    },
    refuse: (request, code, message) => {
      const route = routes.find({ ...request, search: '' }, settings);
      const context = responseContextFor(request, settings, vary);
      return errorResponse(context, new GatewayError(code, message), route.caller, false);
    },
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
      const ground = { calls, outbox: unsettled, usage, upstream: client, emit, clock, stopTimer };
      closed ??= shutDown(drainMs, ground);
      return closed;
    },
  };
}
