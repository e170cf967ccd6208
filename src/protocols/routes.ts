/**
 * Maps paths to routes: which paths the gateway answers, as what, and for which clients. Paths are
 * matched raw and exactly, so that all adapters agree; only `{model}` is decoded, once. A trailing
 * slash is ignored.
 */
import { GatewayError } from '../errors.ts';
import type { GatewayRequest } from '../http.ts';
import type { ProtocolName } from '../ports/models/catalog.ts';
import { isLikeOwnSecret } from '../secret.ts';
import {
  anthropicCaller,
  anthropicKeyHeader,
  anthropicVersionHeader,
} from './callers/anthropic.ts';
import { geminiCaller } from './callers/gemini.ts';
import { azureCaller, openaiCaller } from './callers/openai.ts';
import type { Caller, CallRoute, KeySettings, PathSettings, Protocol, Route } from './protocol.ts';
import {
  insteadOf,
  isAnthropicPath,
  isAzurePath,
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
import type { ProtocolTable } from './table.ts';

export type RoutedRequest = Pick<
  GatewayRequest,
  'method' | 'path' | 'search' | 'headers' | 'target'
>;

export interface Routes {
  /** The headers that carry keys, or decide who the caller is, for `Vary`. */
  varyingHeaders(settings: RouteSettings): readonly string[];
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
  passedOn(
    path: string,
    settings: PathSettings,
    method?: string,
  ): (Pick<MisplacedPath, 'requested' | 'intended'> & { readonly remedy: string }) | undefined;
  /**
   * The route of a request. A path that the gateway does not serve is refused, even if it is the
   * host's, because on bare `node:http` there is no other handler.
   */
  find(request: RoutedRequest, settings: RouteSettings): Route;
  /** For error messages: `POST /v1/images/generations`; empty if the gateway serves none. */
  requestsFor(names: readonly string[]): string;
}

export type RouteSettings = KeySettings & PathSettings;

export function routesOf(protocols: ProtocolTable): Routes {
  const rows = Object.values(protocols);
  const table = pathTable(rows);
  const callers = new Set([...rows.map(({ caller }) => caller), ...sharedPathCallers]);
  return {
    varyingHeaders: (settings) => [
      ...new Set(
        [...callers, ...(settings.azurePaths ? [azureCaller] : [])].flatMap((caller) =>
          caller.keyHeaders(settings),
        ),
      ),
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
    requestsFor: (names) =>
      rows
        .filter(({ name }) => names.includes(name))
        .map(callRequest)
        .filter((request) => request !== '')
        .join(' or '),
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
      return refused(caller, notFound(unreadablePath));
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
      if (lacksMethod) return refused(caller, notFound(noMethod));
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
  if (known === undefined) {
    const methods = listed(namesOfMethods(rows), 'or');
    const error = notFound(`There is no method ${name.slice(0, 64)} here. Use ${methods}.`);
    return refused(geminiCaller, error);
  }
  const { operation, framing, protocol, alsoFor } = known;
  const { caller } = protocol;
  const kind = 'call' as const;
  const route = { kind, caller, protocol, operation, framing: framing(search), modelId, alsoFor };
  return ifAllowed('POST', method, route);
}

function isUnserved(found: Resource, method: string, table: PathTable): boolean {
  const resource = readAsModel(found, method, table);
  if (resource?.at === 'method') return !table.methods.has(resource.method);
  // Below `/v1`, where the names of models may have colons, only a POST asks for a method.
  if (resource?.at === 'models') {
    return method === 'POST' && isMethod(methodIn(resource.modelId ?? ''), true, table);
  }
  return resource?.at === 'unserved';
}

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
  return [
    ...new Set(rows.filter((row) => row.caller.name === caller.name).map(({ name }) => name)),
  ];
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
  if (resource !== undefined && isAzurePath(request.path)) return azureCaller;
  if (request.path.startsWith('/v1beta') || resource?.at === 'method') return geminiCaller;
  const isAnthropics = resource?.at === 'unserved' && isAnthropicPath(resource.listed);
  return isAnthropics ? anthropicCaller : callerByHeaders(request, settings);
}

function refused(caller: Caller, error: GatewayError, path?: string): Route {
  return { kind: 'refused', caller, error, path };
}

/**
 * The prefix of the mount; empty if there is none, or if the caller may have chosen a part of it:
 * error messages repeat only short and plain text.
 */
function mountPrefix({ target = '', path }: Pick<GatewayRequest, 'target' | 'path'>): string {
  const [full = ''] = target.split('?', 1);
  const prefix = full.endsWith(path) ? full.slice(0, -path.length) : '';
  const isPlain = /^(?:\/[A-Za-z0-9._~-]+)+$/.test(prefix) && prefix.length <= 64;
  return isPlain && !isLikeOwnSecret(prefix) ? prefix : '';
}

/** Where people look whether the gateway runs. */
function isRoot(path: string, method: string): boolean {
  return (method === 'GET' || method === 'HEAD') && /^\/(?:v1\/?|v1beta\/?)?$/.test(path);
}

/** What `POST /v1/messages/v1/messages` meant: the client's base URL has the path already. */
function doubledCall(
  { method, path }: Pick<GatewayRequest, 'method' | 'path'>,
  calls: ReadonlyMap<string, CallRoute>,
): MisplacedPath | undefined {
  if (method !== 'POST' || !path.startsWith('/v1/')) return undefined;
  for (const before of calls.keys()) {
    if (!path.startsWith(`${before}/`)) continue;
    const after = path.slice(before.length);
    for (const intended of [after, `/v1${after}`]) {
      const route = calls.get(intended);
      if (route === undefined) continue;
      return { resource: { at: 'call', route }, requested: path, intended, fault: 'whole' };
    }
  }
  return undefined;
}

const unreadablePath =
  'The model name in the path is not readable. Percent-encode it once, without . or .. segments.';
const noMethod = 'The path has no method. POST to /v1beta/models/{model}:generateContent.';

function notFound(message: string): GatewayError {
  return new GatewayError('route_not_found', message);
}

function unknownRoute({ method }: Pick<GatewayRequest, 'method'>): GatewayError {
  const known = method === 'GET' || method === 'POST' ? `${method} ` : '';
  return notFound(`There is no such ${known}route here.`);
}

/** A wrong base URL, the most common mistake of clients. `prefix` is that of the mount. */
function misplacedRoute(misplaced: MisplacedPath, prefix: string): GatewayError {
  const { requested, intended, fault } = misplaced;
  const problem =
    fault === 'missing'
      ? `There is no ${requested} here.`
      : `The URL has ${fault === 'twice' ? 'a version' : 'the path of a call'} twice.`;
  return notFound(
    `${problem} Did you mean ${prefix}${intended}? ${baseUrlRemedy(misplaced, prefix)}`,
  );
}

function baseUrlRemedy({ intended, fault, added }: MisplacedPath, prefix: string): string {
  const [version = ''] = /^\/v1(?:beta)?/.exec(intended) ?? [];
  return fault === 'twice'
    ? `Remove one ${added} from the end of the client's base URL.`
    : `Set the client's base URL to end in ${prefix}${version}.`;
}

/**
 * A provider's path that is not served. `path` names it by a path of the table, not as the caller
 * wrote it: `The path /v1/files`; `instead` is what its clients can do, empty if that is not known.
 */
function unservedRoute(path: string, served: string, instead: string): GatewayError {
  const hint = instead === '' ? `This gateway serves ${served}.` : instead;
  return notFound(`${path} is not served here. ${hint}`);
}

function wrongMethod(method: string, allow: string): GatewayError {
  const sent = /^[A-Z]{1,16}$/.test(method) ? method : 'This method';
  return new GatewayError('method_not_allowed', `${sent} is not allowed here. Use ${allow}.`, {
    allow,
  });
}

function servedRequests(rows: readonly Protocol[]): string {
  const calls = rows.flatMap(({ paths, storedReplies }) => [
    ...Object.keys(paths).map((path) => `POST ${path}`),
    ...(storedReplies === undefined ? [] : [`GET ${storedReplies.folder}/{id}`]),
  ]);
  const methods = namesOfMethods(rows).map((name, index) =>
    index === 0 ? methodRequest(name) : `:${name}`,
  );
  const lists = new Set(rows.map(({ caller }) => caller.models.request));
  return listed([...calls, ...methods, ...lists], 'and');
}

function namesOfMethods(rows: readonly Protocol[]): readonly string[] {
  return rows.flatMap(({ methods }) => Object.keys(methods));
}

function callRequest({ paths, methods }: Protocol): string {
  const [path] = Object.keys(paths);
  if (path !== undefined) return `POST ${path}`;
  const [method] = Object.keys(methods);
  return method === undefined ? '' : methodRequest(method);
}

function methodRequest(name: string): string {
  return `POST /v1beta/models/{model}:${name}`;
}

function listed(names: readonly string[], conjunction: 'and' | 'or'): string {
  const last = names.at(-1) ?? '';
  const others = names.slice(0, -1).join(', ');
  return others === '' ? last : `${others} ${conjunction} ${last}`;
}

/** The headers that decide, except those that carry keys. */
export const decidingHeaders: readonly string[] = [anthropicVersionHeader];

export const sharedPathCallers: readonly Caller[] = [openaiCaller, geminiCaller, anthropicCaller];

/**
 * The clients that sent these headers. `anthropic-version` comes before `Authorization`, because
 * Anthropic's newer SDKs send both; a native key counts only without `Authorization`, because
 * Google's SDKs put a placeholder there.
 */
function callerByHeaders(
  { headers, search }: Pick<GatewayRequest, 'search' | 'headers'>,
  { nativeKeyHeaders, allowQueryKey }: KeySettings,
): Caller {
  if (headers[anthropicVersionHeader] !== undefined) return anthropicCaller;
  if (headers.authorization !== undefined) return openaiCaller;
  if (nativeKeyHeaders.some((name) => headers[name] !== undefined)) return geminiCaller;
  if (allowQueryKey && new URLSearchParams(search).has('key')) return geminiCaller;
  return headers[anthropicKeyHeader] === undefined ? openaiCaller : anthropicCaller;
}
