/** The gateway: the stages of a request in their order, on one screen. */
import type { Body } from './bytes/body.ts';
import { contentLengthOf } from './bytes/body-headers.ts';
import { bodyBudget, fairShares } from './bytes/fair-shares.ts';
import { ignoreErrors } from './bytes/read-body.ts';
import { type DialectTable, dialects } from './dialects/table.ts';
import { GatewayError, statusOf } from './errors.ts';
import { quietListener } from './events.ts';
import type { GatewayHandler, GatewayRequest, GatewayResponse } from './http.ts';
import { type GatewayOptions, type Settings, settingsOf } from './options.ts';
import type { ApiKey } from './ports/key-store.ts';
import type { UsageRecord } from './ports/usage-sink.ts';
import { openaiCaller } from './protocols/callers/openai.ts';
import type { Caller, CallRoute, Route } from './protocols/protocol.ts';
import { routesOf } from './protocols/routes.ts';
import { type ProtocolTable, protocols } from './protocols/table.ts';
import { admit } from './stages/admit.ts';
import { authenticate } from './stages/authenticate.ts';
import { beginningCall } from './stages/begin.ts';
import { callUpstream } from './stages/call-upstream.ts';
import { foundRecords } from './stages/found-records.ts';
import { freeDepartures } from './stages/free-departures.ts';
import { holdFor } from './stages/hold.ts';
import { idempotency } from './stages/idempotency.ts';
import { limit } from './stages/limit.ts';
import { listModels } from './stages/list-models.ts';
import { loopTurn } from './stages/loop-turn.ts';
import { modelPlans } from './stages/model-plan.ts';
import { outbox } from './stages/outbox.ts';
import { type PortGuard, portGuard } from './stages/port-guard.ts';
import { readCallInTurns, receiveBody } from './stages/read-call.ts';
import { closing, readableError, reportBug } from './stages/refuse.ts';
import { relay } from './stages/relay.ts';
import { reserver } from './stages/reserve.ts';
import { type Resolution, type ResolveResult, resolveUnknown } from './stages/resolve-unknown.ts';
import {
  type AnswerContext,
  allowed,
  answerContext,
  jsonReply,
  refusal,
} from './stages/respond.ts';
import { type RunningCall, runningCalls } from './stages/running.ts';
import { settlementOf } from './stages/settle.ts';
import { shutDown } from './stages/shut-down.ts';
import { storeBreakers } from './stages/store-breaker.ts';
import { storeCare } from './stages/store-care.ts';
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
  /**
   * Takes a channel out of service, for all models, or puts it back with everything forgotten that
   * stood against it. Calls that run through it run on.
   */
  switchChannel(channelId: string, to: 'on' | 'off'): void;
  /**
   * Ends the hold of a call whose outcome was `unknown`, once you know what became of it: the hold
   * of an image stays for 15 minutes, and is charged late after that. Writes a second record of the
   * request, with the charge.
   *
   * @throws ConfigurationError where the record or the charge is not one
   * @throws GatewayError `store_unavailable`; it can be tried again
   */
  resolveUnknown(record: UsageRecord, resolution: Resolution): Promise<ResolveResult>;
  /**
   * Refuses new calls with 503, lets running ones end, cuts those that still run after `drainMs`
   * (10 s where left out), delivers what the stores are owed, flushes the usage sink and closes the
   * upstream's sockets. Stores are the host's, and stay open. A second call waits for the first.
   */
  close(options?: { readonly drainMs?: number }): Promise<void>;
}

/** A call under way, beside its bytes and its route. */
interface Serving {
  readonly request: GatewayRequest;
  readonly key: ApiKey;
  readonly running: RunningCall;
  readonly snapshot: Settings;
  readonly guard: PortGuard;
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
  const upstream = options.upstream ?? undiciClient({ connections: mostConnections });
  const { maxBufferedBytes } = settings;
  const bodyShares = fairShares(() => maxBufferedBytes);
  const unsettled = outbox(clock, emit);
  const breakers = storeBreakers(clock);
  const records = foundRecords();
  const reserve = reserver();
  // Apart, for requests and replies go through different code.
  const endOfRequests = loopTurn();
  const endOfReplies = loopTurn();
  const calls = runningCalls(() => settings, ownGuard, emit);
  const repeats = idempotency(emit);
  const care = storeCare(() => settings, ownGuard, emit);
  const stopTimer = clock.every(tickMs, () => {
    health.tick();
    const ticks = Promise.all([calls.tick(), unsettled.retry(), care.tick()]);
    ticks.catch((error: unknown) => reportBug(error, undefined, emit));
  });
  const health = channelHealth(clock, () => settings.random(), emit);
  const retries = retryBudget();
  const departures = freeDepartures(clock);
  const plans = modelPlans(tables.dialects);
  const saidUnbounded = new Set<string>();
  void care.check();

  /** One request, by its stages. Throws a GatewayError for every refusal and failure. */
  async function answer(
    request: GatewayRequest,
    route: Route,
    context: AnswerContext,
  ): Promise<GatewayResponse> {
    const snapshot = settings;
    ignoreErrors(request.body);
    if (route.kind === 'refused') throw route.error;
    if (route.kind === 'options') return allowed(context, route.allow);
    // A body that came with its head is whole then.
    await endOfRequests();
    if (isClosed()) throw closing();
    const guard = portGuard(context.requestId, snapshot, emit, breakers);
    const key = await authenticate(request, route.caller, snapshot, guard, records);
    // It may have closed while the key was looked up; from here on it waits for the call.
    if (isClosed()) throw closing();
    if (route.kind === 'models') {
      const listed = await listModels(route, request.search, key, snapshot, guard, records);
      return jsonReply(context, listed);
    }

    const running = calls.begin(beginningCall(request, route.protocol, key, snapshot));
    try {
      request.onClose(running.leave);
      await limit(key, snapshot, guard);
      const budget = bodyBudget(bodyShares, key.id, contentLengthOf(request.headers));
      // Awaited in any case: who had gone before we listened is told of a turn later.
      const body = await receiveBody(request, route, snapshot, budget);
      // As long as the call runs its body stays in memory: for another channel, and in the client.
      running.onDone(() => budget.give(body.byteLength));
      return await serve(body, route, context, { request, key, running, snapshot, guard });
    } catch (error) {
      running.done();
      throw error;
    }
  }

  /**
   * From the bytes of a call to its reply. Once quota is held, a settlement owns it on every path.
   */
  async function serve(
    body: Body,
    route: CallRoute,
    context: AnswerContext,
    { request, key, running, snapshot, guard }: Serving,
  ): Promise<GatewayResponse> {
    const startedAtMs = clock.now();
    const call = await readCallInTurns(body, route);
    const model = await admit(call, route.protocol, key, snapshot, guard, records);
    const hold = holdFor(call, model);
    if (!hold.isBounded) sayUnbounded(model.id);
    const turn = await repeats.turn({
      request,
      call,
      protocol: route.protocol,
      key,
      model,
      running,
      answer: context,
      settings: snapshot,
      guard,
    });
    if ('repeat' in turn) {
      running.done();
      return turn.repeat;
    }
    const { claim } = turn;
    const reservation = await claim.before(() => reserve(key, hold.nanos, snapshot, guard));
    const { requestId } = context;
    const settlement = claim.endingWith(
      settlementOf({
        requestId,
        call,
        key,
        model,
        hold,
        reservation,
        startedAtMs,
        settings: snapshot,
        guard,
        outbox: unsettled,
        emit,
      }),
    );
    const runsOn = call.operation.isBoughtOnce || claim.copy !== undefined;
    const plan = plans.of(model, snapshot);
    running.keep(settlement, plan.totalMs);
    try {
      const means = {
        requestId,
        protocol: route.protocol,
        key,
        settings: snapshot,
        upstream,
        health,
        retries,
        running,
        settlement,
        hold,
        guard,
        emit,
        plan,
        runsOn,
        endOfReplies,
        departures,
      };
      const outcome = await callUpstream(call, model, means);
      if ('reply' in outcome) {
        running.detach();
        const { reply, disclosure, notes, lease } = outcome;
        return relay(reply, {
          call,
          protocol: route.protocol,
          model,
          hold,
          settlement,
          running,
          answer: context,
          disclosure,
          notes,
          lease,
          runsOn,
          copy: claim.copy,
          keyId: key.id,
          departures,
        });
      }
      const { error, ending, reason, countedTokens, usage } = outcome.failure;
      // The record stands before the answer goes out: it is where a caller is told to look.
      // 499 is what logs have for a caller that went away.
      const status = reason === 'caller_left' ? 499 : statusOf[error.code];
      await settlement.close({ ending, status, reason, countedTokens, usage });
      throw error;
    } catch (error) {
      const ending = running.hasSent ? 'failed' : 'not_run';
      await settlement.close({ ending, status: 500, reason: 'internal_error' });
      throw error;
    }
  }

  function isClosed(): boolean {
    return closed !== undefined;
  }

  function sayUnbounded(modelId: string): void {
    if (saidUnbounded.has(modelId) || saidUnbounded.size >= 10_000) return;
    saidUnbounded.add(modelId);
    emit({ type: 'no_stated_maximum', modelId });
  }

  /** The patience of the moment, for what outlives one call. */
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
      const context = answerContext(request, settings, vary);
      let caller: Caller = openaiCaller;
      let isBoughtOnce = false;
      try {
        const route = routes.find(request, settings);
        caller = route.caller;
        isBoughtOnce = route.kind === 'call' && route.operation.isBoughtOnce;
        return await answer(request, route, context);
      } catch (error) {
        return refusal(
          context,
          readableError(error, context.requestId, emit),
          caller,
          isBoughtOnce,
        );
      }
    },
    refuse: (request, code, message) => {
      const route = routes.find({ ...request, search: '' }, settings);
      const context = answerContext(request, settings, vary);
      return refusal(context, new GatewayError(code, message), route.caller, false);
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
    switchChannel: health.switch,
    resolveUnknown: (record, resolution) =>
      resolveUnknown(record, resolution, settings, portGuard(record?.requestId, settings, emit)),
    close: ({ drainMs } = {}) => {
      const { usage } = settings;
      const ground = { calls, outbox: unsettled, usage, upstream, emit, clock, stopTimer };
      closed ??= shutDown(drainMs, ground);
      return closed;
    },
  };
}
