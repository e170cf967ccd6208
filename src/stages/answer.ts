/**
 * Answers each request: with the response of its route, or with the error response that its
 * caller's clients expect.
 */
import { GatewayError } from '../errors.ts';
import { swallowErrors } from '../events/thrown.ts';
import { ignoreErrors } from '../host/streams.ts';
import type { GatewayHandler, GatewayRequest, GatewayResponse } from '../http.ts';
import { openaiCaller } from '../protocols/callers/openai.ts';
import type { Caller, Route } from '../protocols/protocol.ts';
import type { Routes } from '../protocols/routes.ts';
import type { Received, RequestProgress } from './call-record.ts';
import type { GatewayParts, GatewayState } from './gateway-parts.ts';
import { portCalls } from './ports/port-calls.ts';
import { readableError } from './refuse.ts';
import { CallerConnection } from './relay/caller-connection.ts';
import { reportRefusal } from './request-events.ts';
import { errorResponse, lastOnConnection, optionsResponse, responseContextFor } from './respond.ts';
import { secretsOf } from './upstream/shown-error.ts';

/** What answers depend on. Settings are read at each request: they may change. */
export interface AnswerDeps {
  readonly routes: Routes;
  readonly parts: GatewayParts;
  readonly state: GatewayState;
}

export function answering(deps: AnswerDeps): Pick<GatewayHandler, 'handle' | 'refuse'> {
  const { routes, state } = deps;
  const { events, work } = deps.parts;
  const { refusals } = work;
  const misplaced = misplacedHandle();
  const finish = (response: GatewayResponse): GatewayResponse =>
    state.isClosed() ? lastOnConnection(response) : response;

  return {
    handle: (request, second?: unknown) =>
      second === undefined ? handle(request, deps, finish) : Promise.resolve(misplaced(second)),
    refuse: (request, code, message) => {
      const settings = state.settings();
      const route = routes.find({ ...request, search: '' }, settings);
      const context = responseContextFor(request, settings, state.vary());
      context.requestIdHeader = route.caller.requestIdHeader;
      const error = new GatewayError(code, message);
      const response = errorResponse(context, error, route.caller, false);
      const { status } = response;
      const received = {
        request,
        emit: events.forRequest(),
        progress: newProgress(),
        secrets: () => secretsOf(request, context.vary),
        responseContext: context,
      };
      reportRefusal(received, error, { route, status, refusals });
      return finish(response);
    },
  };
}

async function handle(
  request: GatewayRequest,
  deps: AnswerDeps,
  finish: (response: GatewayResponse) => GatewayResponse,
): Promise<GatewayResponse> {
  const { routes, parts, state } = deps;
  const { endOfRequestTurn, serve, breakers, times, events, work } = parts;
  const settings = state.settings();
  const context = responseContextFor(request, settings, state.vary());
  const emit = events.forRequest();
  const secrets = (): readonly string[] => secretsOf(request, context.vary);
  const user = { requestId: context.requestId, secrets };
  // Listed, because V8 copies a spread with new members slowly: that took 5 % of a call.
  const received: Received = {
    request,
    responseContext: context,
    settings,
    secrets,
    ports: portCalls(user, settings, emit, breakers, times),
    emit,
    connection: new CallerConnection(),
    progress: newProgress(),
  };
  let caller: Caller = openaiCaller;
  let route: Route | undefined;
  let isBoughtOnce = false;
  try {
    route = routes.find(request, settings);
    caller = route.caller;
    context.requestIdHeader = caller.requestIdHeader;
    isBoughtOnce = route.kind === 'call' && route.operation.isBoughtOnce;
    const { body } = request;
    if (body !== undefined && !ArrayBuffer.isView(body)) ignoreErrors(body);
    if (route.kind === 'refused') throw route.error;
    if (route.kind === 'options') return finish(optionsResponse(context, route.allow));
    request.onClose(() => received.connection.markDisconnected());
    // Waiting for the end of the loop turn lets a body that came with its head arrive completely,
    // and a caller that is already gone be reported.
    await new Promise<void>(endOfRequestTurn);
    return finish(await serve(received, route));
  } catch (error) {
    const readable = readableError(error, context.requestId, emit);
    const response = errorResponse(context, readable, caller, isBoughtOnce);
    const { status } = response;
    reportRefusal(received, readable, { route, status, refusals: work.refusals });
    return finish(response);
  }
}

function newProgress(): RequestProgress {
  return { key: undefined, requestedModel: undefined, modelId: undefined, hasStarted: false };
}

const explanation =
  'gateway.handle is no request handler of a framework, and requests get 500. Mount the ' +
  'gateway by an adapter: nodeAdapter, expressAdapter, koaAdapter, fastifyAdapter or fetchAdapter.';

function misplacedHandle(): (second: unknown) => GatewayResponse {
  let hasWarned = false;
  return (second) => {
    if (!hasWarned) {
      hasWarned = true;
      process.emitWarning(explanation, { type: 'TollgateWarning', code: 'TOLLGATE_MISPLACED' });
    }
    swallowErrors(() => end(second));
    const headers = { 'content-type': 'text/plain; charset=utf-8' };
    return { status: 500, headers, body: Buffer.from(answer) };
  };
}

const answer =
  'The gateway is not mounted correctly. The log of this server says how to mount it.\n';

/** Ends a response of `node:http`, Express or Connect; others are ended by their framework. */
function end(response: unknown): void {
  if (typeof response !== 'object' || response === null) return;
  if (!('end' in response) || typeof response.end !== 'function') return;
  Reflect.set(response, 'statusCode', 500);
  response.end(answer);
}
