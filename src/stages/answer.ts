/**
 * Answers each request: with the response of its route, or with the error response that its
 * caller's clients expect.
 */
import { GatewayError } from '../errors.ts';
import type { EventListener } from '../events.ts';
import type { GatewayHandler, GatewayResponse } from '../http.ts';
import type { Settings } from '../options.ts';
import { openaiCaller } from '../protocols/callers/openai.ts';
import type { Caller } from '../protocols/protocol.ts';
import type { Routes } from '../protocols/routes.ts';
import { portCalls } from './port-calls.ts';
import { readableError } from './refuse.ts';
import { errorResponse, lastOnConnection, responseContextFor } from './respond.ts';
import type { Serve } from './serve.ts';
import type { StoreBreakers } from './store-breaker.ts';

/** What answering needs of a gateway. Settings are asked for at each request: they may change. */
export interface AnswerDeps {
  readonly routes: Routes;
  readonly serve: Serve;
  readonly breakers: StoreBreakers;
  readonly emit: EventListener;
  settings(): Settings;
  vary(): string;
  isClosed(): boolean;
}

/** Makes the two methods of a gateway that respond. */
export function answering(deps: AnswerDeps): Pick<GatewayHandler, 'handle' | 'refuse'> {
  const { routes, serve, breakers, emit } = deps;
  const finish = (response: GatewayResponse): GatewayResponse =>
    deps.isClosed() ? lastOnConnection(response) : response;

  return {
    handle: async (request) => {
      const settings = deps.settings();
      const context = responseContextFor(request, settings, deps.vary());
      let caller: Caller = openaiCaller;
      let isBoughtOnce = false;
      try {
        const route = routes.find(request, settings);
        caller = route.caller;
        context.requestIdHeader = caller.requestIdHeader;
        isBoughtOnce = route.kind === 'call' && route.operation.isBoughtOnce;
        const ports = portCalls(context.requestId, settings, emit, breakers);
        return finish(await serve({ request, responseContext: context, settings, ports }, route));
      } catch (error) {
        const readable = readableError(error, context.requestId, emit);
        return finish(errorResponse(context, readable, caller, isBoughtOnce));
      }
    },
    refuse: (request, code, message) => {
      const settings = deps.settings();
      const route = routes.find({ ...request, search: '' }, settings);
      const context = responseContextFor(request, settings, deps.vary());
      context.requestIdHeader = route.caller.requestIdHeader;
      return finish(errorResponse(context, new GatewayError(code, message), route.caller, false));
    },
  };
}
