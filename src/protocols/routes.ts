/**
 * Maps paths to routes: which paths the gateway answers, as what, and for which clients. Paths are
 * matched raw and exactly, so that all adapters agree; only `{model}` is decoded, once. A trailing
 * slash is ignored.
 */
import type { Operation } from '../call.ts';
import type { GatewayError } from '../errors.ts';
import type { GatewayRequest } from '../http.ts';
import type { ProtocolName } from '../ports/catalog.ts';
import { doubledCall, isRoot, mountPrefix } from './base-urls.ts';
import { callerByHeaders, decidingHeaders, sharedPathCallers } from './caller-of.ts';
import { anthropicCaller } from './callers/anthropic.ts';
import { geminiCaller } from './callers/gemini.ts';
import { decodeOnce, isPlain, modelName } from './model-paths.ts';
import type {
  Caller,
  CallRoute,
  KeySettings,
  PathMethod,
  PathSettings,
  Protocol,
  Route,
  StoredReplyRoute,
} from './protocol.ts';
import {
  type Misplacement,
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
import { insteadOf, isAnthropicPath, unservedPath } from './unserved.ts';

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

/** The options that a route depends on. */
export type RouteSettings = KeySettings & PathSettings;

/** A path that the gateway answers, before method and headers are checked. */
type Resource =
  | { readonly at: 'call'; readonly route: CallRoute }
  | { readonly at: 'models'; readonly modelId: string | undefined }
  | { readonly at: 'method'; readonly modelId: string; readonly method: string }
  | { readonly at: 'stored_reply'; readonly route: StoredReplyRoute }
  | { readonly at: 'unserved'; readonly listed: string }
  | { readonly at: 'key' | 'unreadable' };

/** A method in a path, and its protocol. */
interface OwnedMethod extends PathMethod {
  readonly protocol: Protocol;
}

/** The lookup tables for paths. */
interface PathTable {
  readonly rows: readonly Protocol[];
  readonly calls: ReadonlyMap<string, CallRoute>;
  readonly methods: ReadonlyMap<string, OwnedMethod>;
}

/** Builds the routes of these protocols. */
export function routesOf(protocols: ProtocolTable): Routes {
  const rows = Object.values(protocols);
  const table: PathTable = {
    rows,
    calls: new Map(rows.flatMap(pathsOf)),
    methods: new Map(rows.flatMap(methodsOf)),
  };
  const callers = new Set([...rows.map(({ caller }) => caller), ...sharedPathCallers]);
  return {
    varyingHeaders: (settings) => [
      ...new Set([...callers].flatMap((caller) => caller.keyHeaders(settings))),
      ...decidingHeaders,
    ],
    owns: (path, settings, method = 'POST', isBelowPrefix = false) => {
      const resource = resourceAt(path, table, settings);
      if (resource === undefined) {
        if (settings.unserved === 'pass' || !sent.has(method)) return false;
        if (doubledCall({ method, path }, table.calls) !== undefined) return true;
        return (
          isBelowPrefix &&
          (isRoot(path, method) || misplacedAt(path, table, settings) !== undefined)
        );
      }
      return settings.unserved !== 'pass' || !isUnserved(resource, method, table);
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
      return refused(
        caller,
        unservedRoute(
          describedPath(resource.listed, table),
          servedRequests(rows),
          insteadOf(resource.listed),
        ),
      );
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

/**
 * A model's name may look as if it ended in a method, such as `m:free`: a GET asks for the model.
 */
function readAsModel(
  resource: Resource | undefined,
  method: string,
  { methods }: PathTable,
): Resource | undefined {
  if (resource?.at !== 'method' || methods.has(resource.method)) return resource;
  if (method !== 'GET' && method !== 'HEAD') return resource;
  return { at: 'models', modelId: `${resource.modelId}:${resource.method}` };
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

function resourceAt(
  rawPath: string,
  table: PathTable,
  { ownerRoutes }: PathSettings,
): Resource | undefined {
  const path = rawPath.endsWith('/') ? rawPath.slice(0, -1) : rawPath;
  const route = table.calls.get(path);
  if (route !== undefined) return { at: 'call', route };
  if (!path.startsWith('/v1')) return undefined;
  if (ownerRoutes && path === '/v1/key') return { at: 'key' };
  return modelAt(path, table) ?? storedReplyAt(path, table) ?? unservedAt(path);
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
  return refused(caller, misplacedRoute(found, mountPrefix(request)));
}

/** The methods of clients, whose base URL may be wrong. */
const sent: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST']);

/** The right path is without the name of a model or a reply. */
interface MisplacedPath extends Misplacement {
  readonly resource: Resource;
}

/** What a path without a version, or with two of them, was meant to be; undefined for others. */
function misplacedAt(
  path: string,
  table: PathTable,
  settings: PathSettings,
): MisplacedPath | undefined {
  const added = twice.exec(path)?.[1];
  if (added === undefined && path.startsWith('/v1')) return undefined;
  const asMeant =
    added === undefined
      ? ['/v1', '/v1beta'].map((version) => version + path)
      : [path.slice(added.length)];
  for (const meant of asMeant) {
    const resource = resourceAt(meant, table, settings);
    const intended = resource && namedPath(resource, meant, table);
    if (resource === undefined || intended === undefined) continue;
    return added === undefined
      ? { resource, intended, fault: 'missing' }
      : { resource, intended, fault: 'twice', added };
  }
  return undefined;
}

const twice = /^(\/v1(?:beta)?)\/v1(?:beta)?\//;

/** The path of a resource that is served, as the table has it. */
function namedPath(resource: Resource, path: string, { methods }: PathTable): string | undefined {
  const isOfModels = resource.at === 'models' || resource.at === 'method';
  if (isOfModels && !/^\/v1(?:beta)?\/models(?:\/|$)/.test(path)) return undefined;
  switch (resource.at) {
    case 'call':
      return path.endsWith('/') ? path.slice(0, -1) : path;
    case 'stored_reply':
      return `${resource.route.replies.folder}/{id}`;
    case 'models': {
      const folder = path.startsWith('/v1beta/') ? '/v1beta/models' : '/v1/models';
      return resource.modelId === undefined ? folder : `${folder}/{model}`;
    }
    case 'method':
      return methods.has(resource.method) ? `/v1beta/models/{model}:${resource.method}` : undefined;
    default:
      return undefined;
  }
}

function modelAt(path: string, table: PathTable): Resource | undefined {
  if (path.startsWith('/v1beta/')) return modelResource(path.slice('/v1beta/'.length), true, table);
  if (path.startsWith('/v1/')) return modelResource(path.slice('/v1/'.length), false, table);
  return undefined;
}

/** A reply below the folder of a protocol, or a part of it: `/v1/responses/{id}/input_items`. */
function storedReplyAt(path: string, { rows }: PathTable): Resource | undefined {
  for (const protocol of rows) {
    const { caller, storedReplies: replies } = protocol;
    if (replies === undefined || !path.startsWith(`${replies.folder}/`)) continue;
    const [id = '', part, ...more] = path.slice(replies.folder.length + 1).split('/');
    if (id === '' || more.length > 0) continue;
    if (part !== undefined && !replies.parts.includes(part)) continue;
    const route = { kind: 'stored_reply', caller, protocol, replies, id, part } as const;
    return { at: 'stored_reply', route };
  }
  return undefined;
}

function unservedAt(path: string): Resource | undefined {
  const listed = unservedPath(path);
  return listed === undefined ? undefined : { at: 'unserved', listed };
}

/**
 * The text between the version and the last colon is the model's name, which may contain slashes
 * and colons.
 */
function modelResource(raw: string, beta: boolean, table: PathTable): Resource | undefined {
  const rest = decodeOnce(raw);
  const named = rest ?? raw;
  const inModels = named === 'models' || named.startsWith('models/');
  const isTuned = beta && named.startsWith('tunedModels/');
  if (!(inModels || isTuned || isMethod(methodIn(named), beta, table))) return undefined;
  if (rest === undefined || !isPlain(rest)) return { at: 'unreadable' };
  if (rest === 'models') return { at: 'models', modelId: undefined };

  const method = methodIn(rest);
  const resource = method === undefined ? '' : rest.slice(0, -method.length - 1);
  if (method === undefined || resource === '' || !isMethod(method, beta, table)) {
    return { at: 'models', modelId: modelName(rest) };
  }
  return { at: 'method', modelId: modelName(resource), method };
}

/** The text after the last colon. */
function methodIn(rest: string): string | undefined {
  const colon = rest.lastIndexOf(':');
  return colon === -1 ? undefined : rest.slice(colon + 1);
}

/** Below `/v1beta` anything that looks like a method counts as one, even if unknown. */
function isMethod(name: string | undefined, beta: boolean, { methods }: PathTable): boolean {
  return name !== undefined && (methods.has(name) || (beta && /^[a-zA-Z]+$/.test(name)));
}

/** The route of a call whose model and framing are in the body. */
function callRoute(protocol: Protocol, operation: Operation): CallRoute {
  const { caller } = protocol;
  return { kind: 'call', caller, protocol, operation, framing: 'json', modelId: undefined };
}

function pathsOf(protocol: Protocol): readonly (readonly [string, CallRoute])[] {
  const paths = Object.entries(protocol.paths);
  return paths.map(([path, operation]) => [path, callRoute(protocol, operation)]);
}

function methodsOf(protocol: Protocol): readonly (readonly [string, OwnedMethod])[] {
  return Object.entries(protocol.methods).map(([name, method]) => [name, { ...method, protocol }]);
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

function refused(caller: Caller, error: GatewayError): Route {
  return { kind: 'refused', caller, error };
}
