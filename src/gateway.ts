/** The gateway: the stages of a request in their order, on one screen. */
import { byteBudget } from './bytes/byte-budget.ts';
import { GatewayError, isGatewayError, statusOf, UpstreamError } from './errors.ts';
import type { EventListener } from './events.ts';
import type { GatewayHandler, GatewayRequest, GatewayResponse } from './http.ts';
import { type GatewayOptions, type Settings, settingsOf } from './options.ts';
import type { DialectName } from './ports/catalog.ts';
import { findRoute, ownsPath, type Route } from './protocols/endpoints.ts';
import { admit } from './stages/admit.ts';
import { authenticate } from './stages/authenticate.ts';
import { callUpstream } from './stages/call-upstream.ts';
import { hasNoStatedMaximum, holdFor } from './stages/hold.ts';
import { limit } from './stages/limit.ts';
import { listModels } from './stages/list-models.ts';
import { outbox } from './stages/outbox.ts';
import { type PortGuard, portGuard } from './stages/port-guard.ts';
import { readCall, receiveBody } from './stages/read-call.ts';
import { relay } from './stages/relay.ts';
import { reserve } from './stages/reserve.ts';
import { type AnswerContext, allowed, jsonReply, refusal } from './stages/respond.ts';
import { type RunningCall, runningCalls } from './stages/running.ts';
import { settlementOf } from './stages/settle.ts';
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
   * Refuses new calls with 503, lets running ones end, cuts those that still run after `drainMs`
   * (10 s where left out), flushes the usage sink and closes the upstream's sockets. Stores are the
   * host's, and stay open.
   */
  close(options?: { readonly drainMs?: number }): Promise<void>;
}

type CallRoute = Extract<Route, { readonly kind: 'call' }>;

const callerRequestId = /^[A-Za-z0-9_-]{8,64}$/;
const tickMs = 1_000;
const defaultDrainMs = 10_000;

/**
 * Makes a gateway.
 *
 * @throws ConfigurationError that names the option and the cure
 */
export function createGateway(options: GatewayOptions): Gateway {
  let current: GatewayOptions = options;
  let settings = settingsOf(current);
  let draining = false;
  const { clock } = settings;
  const upstream = options.upstream ?? undiciClient({ connections: settings.maxConcurrentCalls });
  const emit: EventListener = (event) => {
    try {
      settings.onEvent?.(event);
    } catch {
      // A listener's mistake must not become a caller's.
    }
  };
  const budget = byteBudget(settings.maxBufferedBytes);
  const unsettled = outbox(clock, emit);
  const calls = runningCalls(() => settings, portGuard(undefined, settings, emit));
  const stopTimer = clock.every(tickMs, () => {
    void Promise.all([calls.tick(), unsettled.retry()]);
  });
  const saidUnbounded = new Set<string>();

  /** One request, by its stages. Throws a GatewayError for every refusal and failure. */
  async function answer(
    request: GatewayRequest,
    route: Route,
    context: AnswerContext,
  ): Promise<GatewayResponse> {
    const snapshot = settings;
    if (route.kind === 'refused') throw route.error;
    if (route.kind === 'options') return allowed(context, route.allow);
    if (draining) throw closing();
    const guard = portGuard(context.requestId, snapshot, emit);
    const key = await authenticate(request, route.speaks, snapshot, guard);
    if (route.kind === 'models') {
      return jsonReply(context, await listModels(route, request.search, key, snapshot, guard));
    }

    const running = calls.begin();
    if (running === undefined) throw overloaded();
    request.onClose(running.leave);
    const body = await receiveBody(request, route, snapshot, budget).catch((error: unknown) => {
      running.done();
      throw error;
    });
    try {
      return await serve(body, route, context, { key, running, snapshot, guard });
    } catch (error) {
      running.done();
      throw error;
    } finally {
      budget.give(body.length);
    }
  }

  /**
   * From the bytes of a call to its reply. Once quota is held, a settlement owns it on every path.
   */
  async function serve(
    body: Uint8Array,
    route: CallRoute,
    context: AnswerContext,
    { key, running, snapshot, guard }: Serving,
  ): Promise<GatewayResponse> {
    const startedAtMs = clock.now();
    const call = readCall(body, route);
    const model = await admit(call, key, snapshot, guard);
    sayIfUnbounded(model.id, hasNoStatedMaximum(model));
    await limit(key, snapshot, guard);
    const hold = holdFor(call, model);
    const reservation = await reserve(key, hold.nanos, snapshot, guard);
    const { requestId } = context;
    const settlement = settlementOf({
      requestId,
      call,
      key,
      model,
      hold,
      reservation,
      startedAtMs,
      settings: snapshot,
      outbox: unsettled,
      emit,
    });
    running.keep(settlement, { ...snapshot.timeouts, ...model.timeouts }.totalMs);
    try {
      const outcome = await callUpstream(call, model, {
        requestId,
        settings: snapshot,
        upstream,
        running,
        settlement,
        emit,
      });
      if ('reply' in outcome) {
        running.detach();
        const secrets = [outcome.channel.baseUrl];
        return relay(outcome.reply, { call, model, settlement, running, answer: context, secrets });
      }
      const { failure } = outcome;
      // The record stands before the answer goes out: it is where a caller is told to look.
      await settlement.close({
        ending: failure.ending,
        status: refusalStatus(failure.error, failure.reason),
        reason: failure.reason,
      });
      throw failure.error;
    } catch (error) {
      await settlement.close({ ending: 'failed', status: 500, reason: 'internal_error' });
      throw error;
    }
  }

  function sayIfUnbounded(modelId: string, unbounded: boolean): void {
    if (!unbounded || saidUnbounded.has(modelId) || saidUnbounded.size > 10_000) return;
    saidUnbounded.add(modelId);
    emit({ type: 'no_stated_maximum', modelId });
  }

  /** Whatever was thrown, as an error a caller may read. */
  function readable(error: unknown, requestId: string): GatewayError {
    if (isGatewayError(error)) {
      if (error.reason === 'body_consumed')
        emit({ type: 'body_consumed', requestId, cure: bodyCure });
      return error;
    }
    emit({ type: 'internal_error', requestId, at: placeOf(error) });
    return new GatewayError('internal_error', 'The gateway failed to answer this request.');
  }

  return {
    owns: ownsPath,
    handle: async (request) => {
      const context = answerContext(request, settings);
      let speaks: DialectName = 'openai';
      let isImage = false;
      try {
        const route = findRoute(request, settings.nativeKeyHeaders);
        speaks = route.speaks;
        isImage = route.kind === 'call' && route.protocol === 'images';
        return await answer(request, route, context);
      } catch (error) {
        return refusal(context, readable(error, context.requestId), speaks, isImage);
      }
    },
    refuse: (request, code, message) => {
      const route = findRoute({ ...request, search: '' }, settings.nativeKeyHeaders);
      const context = answerContext(request, settings);
      return refusal(context, new GatewayError(code, message), route.speaks, false);
    },
    update: (change) => {
      const changed = { ...current, ...change };
      settings = { ...settingsOf(changed), clock };
      current = changed;
    },
    close: async ({ drainMs = defaultDrainMs } = {}) => {
      draining = true;
      await drained(drainMs);
      stopTimer();
      await unsettled.retry();
      await settings.usage?.close();
      await upstream.close();
    },
  };

  /** Waits for the running calls, then cuts what is left. */
  async function drained(drainMs: number): Promise<void> {
    let stop: () => void = () => {};
    const tooLong = new Promise<void>((resolve) => {
      stop = clock.every(Math.max(1, drainMs), () => resolve());
    });
    await Promise.race([calls.idle(), tooLong]);
    stop();
    calls.abortAll(new UpstreamError('body', 'draining'));
    await Promise.race([calls.idle(), upstream.close()]);
  }
}

interface Serving {
  readonly key: Awaited<ReturnType<typeof authenticate>>;
  readonly running: RunningCall;
  readonly snapshot: Settings;
  readonly guard: PortGuard;
}

const bodyCure =
  'A parser read the request body before the gateway and left nothing. Mount the gateway before body parsers, or keep the bytes in req.rawBody.';

/** A caller's own id is taken if it is one; it ends up in headers and records. */
function answerContext(
  { headers }: Pick<GatewayRequest, 'headers'>,
  settings: Settings,
): AnswerContext {
  const asked = headers['x-request-id'];
  const requestId =
    typeof asked === 'string' && callerRequestId.test(asked) ? asked : settings.ids();
  return { requestId, vary: ['authorization', ...settings.nativeKeyHeaders].join(', ') };
}

/** 499 is what logs have for a caller that went away. */
function refusalStatus(error: GatewayError, reason: string): number {
  return reason === 'caller_left' ? 499 : statusOf[error.code];
}

function closing(): GatewayError {
  return new GatewayError('draining', 'The gateway is shutting down. Try again shortly.', {
    retryAfterMs: 1_000,
  });
}

function overloaded(): GatewayError {
  return new GatewayError(
    'overloaded',
    'The gateway is running too many calls. Try again shortly.',
    {
      retryAfterMs: 1_000,
    },
  );
}

/** The first frame of a stack without the message, which could hold anything. */
function placeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const frame = /\n\s+at ([^\n]+)/.exec(error.stack ?? '')?.[1] ?? 'unknown';
  return `${error.name} at ${frame.replace(/^.*[\\/(]/, '').slice(0, 120)}`;
}
