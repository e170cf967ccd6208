/**
 * Maps paths to routes: which paths the gateway answers, as what, and for which clients. Paths are
 * matched raw and exactly, so that all adapters agree; only `{model}` is decoded, once. A trailing
 * slash is ignored.
 */
import type { GatewayError } from '../errors.ts';
import type { GatewayRequest } from '../http.ts';
import type { ProtocolName } from '../ports/catalog.ts';
import { doubledCall, isRoot, mountPrefix } from './base-urls.ts';
import { callerByHeaders, decidingHeaders, sharedPathCallers } from './caller-of.ts';
import { anthropicCaller } from './callers/anthropic.ts';
import { geminiCaller } from './callers/gemini.ts';
import type { Caller, KeySettings, PathSettings, Protocol, Route } from './protocol.ts';
import {
  callRoute,
  isMethod,
  type MisplacedPath,
  methodIn,
  misplacedAt,
  type PathTable,
  pathTable,
  type Resource,
  readAsModel,
  resourceAt,
} from './resources.ts';
import {
  baseUrlRemedy,
  misplacedRoute,
  noSuffix,
  unknownMethod,
  unknownRoute,
  unreadablePath,
  unservedRoute,
  wrongMethod,
} from './route-errors.ts';
import { callRequests, methodNames, servedRequests } from './served.ts';
import type { ProtocolTable } from './table.ts';
import { insteadOf, isAnthropicPath } from './unserved.ts';

/** The parts of a request that determine its route. */
export type RoutedRequest = Pick<
  GatewayRequest,
  'method' | 'path' | 'search' | 'headers' | 'target'
>;

/** The routes of one gateway. */
export interface Routes {
  /** The headers that carry keys, or decide who the caller is, for `Vary`. */
  varyingHeaders(settings: KeySettings): readonly string[];
  /**
   * Whether the gateway answers this raw path, for an HTTP method: `POST` if it is left out. All
   * other paths belong to the host. Below a prefix of its own the gateway also answers paths whose
   * version is missing or doubled, and says at its root that it runs; elsewhere the host may have
   * such paths itself.
   */
  owns(path: string, settings: PathSettings, method?: string, isBelowPrefix?: boolean): boolean;
  /**
   * The misplaced path that goes to the host because it is below no prefix of the gateway's. If it
   * has no version, only that of a POST: many hosts have a page `/models` or `/messages`.
   */
  passedOn(path: string, settings: PathSettings, method?: string): PassedPath | undefined;
  /**
   * The route of a request. A path that the gateway does not serve is refused, even if it is the
   * host's, because on bare `node:http` there is no other handler.
   */
  find(request: RoutedRequest, settings: RouteSettings): Route;
  /**
   * The requests that call models of these protocols, for error messages: `POST
   * /v1/images/generations`; empty if the gateway serves none of them.
   */
  requestsFor(names: readonly string[]): string;
}

/** A misplaced path by the names of the table, and what its caller has to change. */
export interface PassedPath extends Pick<MisplacedPath, 'requested' | 'intended'> {
  readonly remedy: string;
}

/** The options that a route depends on. */
export type RouteSettings = KeySettings & PathSettings;

/** Builds the routes of these protocols. */
export function routesOf(protocols: ProtocolTable): Routes {
  const rows = Object.values(protocols);
  const table = pathTable(rows);
  const callers = new Set([...rows.map(({ caller }) => caller), ...sharedPathCallers]);
  return {
    varyingHeaders: (settings) => [
      ...new Set([...callers].flatMap((caller) => caller.keyHeaders(settings))),
      ...decidingHeaders,
    ],
    owns: (path, settings, method = 'POST', isBelowPrefix = false) => {
      const resource = resourceAt(path, table, settings);
      if (resource === undefined) {
        if (settings.unserved === 'pass') return false;
        if (doubledCall({ method, path }, table.calls) !== undefined) return true;
        if (!isBelowPrefix) return false;
        return isRoot(path, method) || misplacedBy(method, path, table, settings) !== undefined;
      }
      return settings.unserved !== 'pass' || !isUnserved(resource, method, table);
    },
    passedOn: (path, settings, method = 'POST') => {
      if (method !== 'POST' && !path.startsWith('/v1')) return undefined;
      const found = misplacedBy(method, path, table, settings);
      if (found === undefined) return undefined;
      const { requested, intended } = found;
      return { requested, intended, remedy: baseUrlRemedy(found, '') };
    },
    find: (request, settings) => {
      const known = request.method === 'POST' ? table.calls.get(request.path) : undefined;
      return known ?? misplaced(request, settings, table) ?? routeTo(request, settings, table);
    },
    requestsFor: (names) => callRequests(rows.filter(({ name }) => names.includes(name))),
  };
}

function routeTo(request: RoutedRequest, settings: RouteSettings, table: PathTable): Route {
  const { method, path } = request;
  const { rows } = table;
  const resource = readAsModel(resourceAt(path, table, settings), method, table);
  const caller = callerOf(resource, request, settings);
  switch (resource?.at) {
    case undefined:
      return routeOfNone(request, caller, rows);
    case 'unserved':
      return unserved(caller, resource.listed, table);
    case 'unreadable':
      return refused(caller, unreadablePath());
    case 'call':
      return ifAllowed('POST', method, resource.route);
    case 'stored_reply':
      return ifAllowed(
        resource.route.part === undefined ? 'GET, DELETE' : 'GET',
        method,
        resource.route,
      );
    case 'key':
      return ifAllowed('GET, HEAD', method, { kind: 'key', caller });
    case 'models': {
      const { modelId } = resource;
      const lacksMethod = method === 'POST' && modelId !== undefined && caller === geminiCaller;
      if (lacksMethod) return refused(caller, noSuffix());
      const protocols = protocolsOf(rows, caller);
      return ifAllowed('GET, HEAD', method, { kind: 'models', caller, protocols, modelId });
    }
    case 'method':
      return methodRoute(resource, request, table);
  }
}

function routeOfNone(request: RoutedRequest, caller: Caller, rows: readonly Protocol[]): Route {
  return isRoot(request.path, request.method)
    ? { kind: 'root', caller, served: servedRequests(rows) }
    : refused(caller, unknownRoute(request));
}

function unserved(caller: Caller, listed: string, table: PathTable): Route {
  const served = servedRequests(table.rows);
  const error = unservedRoute(describedPath(listed, table), served, insteadOf(listed));
  return refused(caller, error, listed);
}

/** Does not name a path below one that is served, or below `/v1beta`, by the path above it. */
function describedPath(listed: string, { calls }: PathTable): string {
  const isParent = listed === '/v1beta' || calls.has(listed);
  return isParent ? `This path below ${listed}` : `The path ${listed}`;
}

function methodRoute(
  { modelId, method: name }: Extract<Resource, { readonly at: 'method' }>,
  { method, search }: RoutedRequest,
  { rows, methods }: PathTable,
): Route {
  const known = methods.get(name);
  if (known === undefined) return refused(geminiCaller, unknownMethod(name, methodNames(rows)));
  const { operation, framing, protocol, alsoFor } = known;
  const target = { operation, framing: framing(search), modelId, alsoFor };
  return ifAllowed('POST', method, { ...callRoute(protocol, operation), ...target });
}

/** Whether it is a provider's path, or a method of a model, that the gateway does not serve. */
function isUnserved(found: Resource, method: string, table: PathTable): boolean {
  const resource = readAsModel(found, method, table);
  if (resource?.at === 'method') return !table.methods.has(resource.method);
  // Below `/v1`, where the names of models may have colons, only a POST asks for a method.
  if (resource?.at === 'models') {
    return method === 'POST' && isMethod(methodIn(resource.modelId ?? ''), true, table);
  }
  return resource?.at === 'unserved';
}

/** Names the right path to a client whose base URL is wrong; undefined for all other requests. */
function misplaced(
  request: RoutedRequest,
  settings: RouteSettings,
  table: PathTable,
): Route | undefined {
  const found = doubledCall(request, table.calls) ?? misplacedAt(request.path, table, settings);
  if (found === undefined) return undefined;
  const caller = callerOf(found.resource, { ...request, path: found.intended }, settings);
  return refused(caller, misplacedRoute(found, mountPrefix(request)), found.requested);
}

/** The methods of clients, whose base URL may be wrong. */
const sent: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST']);

/** A misplaced path of a client, unless the host wants to have all that is not served. */
function misplacedBy(
  method: string,
  path: string,
  table: PathTable,
  settings: PathSettings,
): MisplacedPath | undefined {
  if (settings.unserved === 'pass' || !sent.has(method)) return undefined;
  return misplacedAt(path, table, settings);
}

function protocolsOf(rows: readonly Protocol[], caller: Caller): readonly ProtocolName[] {
  return [...new Set(rows.filter((row) => row.caller === caller).map(({ name }) => name))];
}

function ifAllowed(
  allow: string,
  method: string,
  route: Exclude<Route, { readonly kind: 'refused' }>,
): Route {
  const { caller } = route;
  if (method === 'OPTIONS') return { kind: 'options', caller, allow };
  if (allow.split(', ').includes(method)) return route;
  return refused(caller, wrongMethod(method, allow));
}

/** The path decides where only one provider has it; otherwise the headers do. */
function callerOf(
  resource: Resource | undefined,
  request: RoutedRequest,
  settings: KeySettings,
): Caller {
  if (resource?.at === 'call' || resource?.at === 'stored_reply') return resource.route.caller;
  if (request.path.startsWith('/v1beta') || resource?.at === 'method') return geminiCaller;
  const isAnthropics = resource?.at === 'unserved' && isAnthropicPath(resource.listed);
  return isAnthropics ? anthropicCaller : callerByHeaders(request, settings);
}

function refused(caller: Caller, error: GatewayError, path?: string): Route {
  return { kind: 'refused', caller, error, path };
}
