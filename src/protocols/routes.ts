/**
 * Maps paths to routes: which paths the gateway serves, as what, and for which clients. Paths are
 * matched raw and exactly, so that all adapters agree; only `{model}` is decoded, once.
 */
import { GatewayError } from '../errors.ts';
import type { GatewayRequest } from '../http.ts';
import type { ProtocolName } from '../ports/catalog.ts';
import { geminiCaller } from './callers/gemini.ts';
import { openaiCaller } from './callers/openai.ts';
import type { Caller, CallRoute, KeySettings, PathMethod, Protocol, Route } from './protocol.ts';
import type { ProtocolTable } from './table.ts';

/** The parts of a request that determine its route. */
export type RoutedRequest = Pick<GatewayRequest, 'method' | 'path' | 'search' | 'headers'>;

/** The routes of one gateway. */
export interface Routes {
  /** The headers that may carry keys, for `Vary`. */
  keyHeaders(settings: KeySettings): readonly string[];
  /** Whether the gateway serves this raw path. All other paths belong to the host. */
  owns(path: string): boolean;
  /**
   * The route of a request. A path that the gateway does not serve is refused, because on bare
   * `node:http` there is no other handler.
   */
  find(request: RoutedRequest, settings: KeySettings): Route;
}

/** A path that the gateway serves, before method and headers are checked. */
type Resource =
  | { readonly at: 'call'; readonly route: CallRoute }
  | { readonly at: 'models'; readonly modelId: string | undefined }
  | { readonly at: 'method'; readonly modelId: string; readonly method: string }
  | { readonly at: 'edits' | 'unreadable' };

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
    calls: new Map(rows.flatMap((row) => row.paths.map((path) => [path, callRoute(row)]))),
    methods: new Map(rows.flatMap(methodsOf)),
  };
  const callers = new Set(rows.map(({ caller }) => caller));
  return {
    keyHeaders: (settings) => [
      ...new Set([...callers].flatMap((caller) => caller.keyHeaders(settings))),
    ],
    owns: (path) => resourceAt(path, table) !== undefined,
    find: (request, settings) => {
      const known = request.method === 'POST' ? table.calls.get(request.path) : undefined;
      return known ?? routeTo(request, settings, table);
    },
  };
}

function routeTo(request: RoutedRequest, settings: KeySettings, table: PathTable): Route {
  const { method, search } = request;
  const resource = readAsModel(resourceAt(request.path, table), method, table);
  const caller = callerOf(resource, request, settings);
  switch (resource?.at) {
    case undefined:
      return refused(caller, unknownRoute(request));
    case 'edits':
      return refused(caller, noEdits());
    case 'unreadable':
      return refused(caller, unreadablePath());
    case 'call':
      return ifAllowed('POST', method, resource.route);
    case 'models': {
      const { modelId } = resource;
      const lacksMethod = method === 'POST' && modelId !== undefined && caller === geminiCaller;
      if (lacksMethod) return refused(caller, noSuffix());
      const protocols = protocolsOf(table.rows, caller);
      return ifAllowed('GET, HEAD', method, { kind: 'models', caller, protocols, modelId });
    }
    case 'method': {
      const known = table.methods.get(resource.method);
      if (known === undefined) return refused(caller, unknownMethod(resource.method));
      const { operation, framing, protocol } = known;
      const { modelId } = resource;
      const target = { operation, framing: framing(search), modelId };
      return ifAllowed('POST', method, { ...callRoute(protocol), ...target });
    }
  }
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

function resourceAt(path: string, table: PathTable): Resource | undefined {
  const route = table.calls.get(path);
  if (route !== undefined) return { at: 'call', route };
  if (path === '/v1/images/edits') return { at: 'edits' };
  if (path.startsWith('/v1beta/')) return modelResource(path.slice('/v1beta/'.length), true, table);
  if (path.startsWith('/v1/')) return modelResource(path.slice('/v1/'.length), false, table);
  return undefined;
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
function callRoute(protocol: Protocol): CallRoute {
  const { caller, operation } = protocol;
  return { kind: 'call', caller, protocol, operation, framing: 'json', modelId: undefined };
}

function methodsOf(protocol: Protocol): readonly (readonly [string, OwnedMethod])[] {
  return Object.entries(protocol.methods).map(([name, method]) => [name, { ...method, protocol }]);
}

function protocolsOf(rows: readonly Protocol[], caller: Caller): readonly ProtocolName[] {
  return rows.filter((row) => row.caller === caller).map(({ name }) => name);
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

/** Removes the `models/` that Google's clients add to a plain name; other resources are kept. */
function modelName(resource: string): string {
  return resource.startsWith('models/') ? resource.slice('models/'.length) : resource;
}

function decodeOnce(raw: string): string | undefined {
  if (!raw.includes('%')) return raw;
  try {
    return decodeURIComponent(raw);
  } catch {
    return undefined;
  }
}

/** No control characters, and no empty, `.` or `..` segments: no model has such a name. */
function isPlain(rest: string): boolean {
  return (
    !/[\p{Cc}\\]/u.test(rest) &&
    !rest.split('/').some((segment) => segment === '.' || segment === '..' || segment === '')
  );
}

/** The clients of both providers call `/v1/models`; the header of the key tells them apart. */
function callerOf(
  resource: Resource | undefined,
  request: RoutedRequest,
  settings: KeySettings,
): Caller {
  if (resource?.at === 'call') return resource.route.caller;
  if (request.path.startsWith('/v1beta')) return geminiCaller;
  if (resource?.at === 'method') return geminiCaller;
  const isNative = resource?.at === 'models' && hasOnlyNativeKey(request, settings);
  return isNative ? geminiCaller : openaiCaller;
}

function hasOnlyNativeKey(
  { headers, search }: Pick<GatewayRequest, 'search' | 'headers'>,
  { nativeKeyHeaders, allowQueryKey }: KeySettings,
): boolean {
  if (headers.authorization !== undefined) return false;
  if (nativeKeyHeaders.some((name) => headers[name] !== undefined)) return true;
  return allowQueryKey && new URLSearchParams(search).has('key');
}

function refused(caller: Caller, error: GatewayError): Route {
  return { kind: 'refused', caller, error };
}

function unknownRoute({ method, path }: Pick<GatewayRequest, 'method' | 'path'>): GatewayError {
  const intended = ['/chat/completions', '/images/generations', '/models'].find(
    (end) => path === end,
  );
  const known = method === 'GET' || method === 'POST' ? `${method} ` : '';
  return new GatewayError(
    'route_not_found',
    intended === undefined
      ? `There is no such ${known}route here.`
      : `There is no ${intended} here. Did you mean /v1${intended}? ` +
          "Set the client's base URL to end in /v1.",
  );
}

function noEdits(): GatewayError {
  return new GatewayError(
    'route_not_found',
    'Image editing is not supported. Use POST /v1/images/generations.',
  );
}

function unreadablePath(): GatewayError {
  return new GatewayError(
    'route_not_found',
    'The model name in the path is not readable. Percent-encode it once, without . or .. segments.',
  );
}

function noSuffix(): GatewayError {
  return new GatewayError(
    'route_not_found',
    'The path has no method. POST to /v1beta/models/{model}:generateContent.',
  );
}

function unknownMethod(method: string): GatewayError {
  return new GatewayError(
    'route_not_found',
    `There is no method ${method.slice(0, 64)} here. ` +
      'Use generateContent, streamGenerateContent or countTokens.',
  );
}

function wrongMethod(method: string, allow: string): GatewayError {
  const sent = /^[A-Z]{1,16}$/.test(method) ? method : 'This method';
  return new GatewayError('method_not_allowed', `${sent} is not allowed here. Use ${allow}.`, {
    allow,
  });
}
