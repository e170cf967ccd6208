/**
 * The route table: which paths are ours, what each of them is, and which dialect its caller speaks.
 * Paths are matched raw and exactly, so that every mount agrees; only `{model}` is decoded, once.
 */
import type { Framing, Operation } from '../call.ts';
import type { CallerDialectName } from '../dialects/dialect.ts';
import { GatewayError } from '../errors.ts';
import type { GatewayRequest } from '../http.ts';
import type { Settings } from '../options.ts';
import type { ProtocolName } from '../ports/catalog.ts';

/** What a request asks for, and in whose words it is answered. */
export type Route =
  | {
      readonly kind: 'call';
      readonly speaks: CallerDialectName;
      readonly protocol: ProtocolName;
      readonly operation: Operation;
      /** Native only: the path decides how the reply is laid out, and which model answers. */
      readonly framing: Framing;
      readonly modelId: string | undefined;
    }
  | {
      readonly kind: 'models';
      readonly speaks: CallerDialectName;
      /** One model, or the list. */
      readonly modelId: string | undefined;
    }
  | { readonly kind: 'options'; readonly speaks: CallerDialectName; readonly allow: string }
  | { readonly kind: 'refused'; readonly speaks: CallerDialectName; readonly error: GatewayError };

/** A path of ours, before method and headers are looked at. */
type Resource =
  | { readonly at: 'chat' | 'images' | 'edits' }
  | { readonly at: 'models'; readonly native: boolean; readonly modelId: string | undefined }
  | { readonly at: 'method'; readonly modelId: string; readonly method: string }
  | { readonly at: 'unreadable' };

/** Where a native key may stand. */
type KeySettings = Pick<Settings, 'nativeKeyHeaders' | 'allowQueryKey'>;

const nativeMethods: Readonly<Record<string, Operation>> = {
  generateContent: 'generate',
  streamGenerateContent: 'generate',
  countTokens: 'count_tokens',
};

const chatPath = '/v1/chat/completions';
const imagesPath = '/v1/images/generations';
const chatRoute = bodyRoute('chat');
const imagesRoute = bodyRoute('images');

/** Whether the gateway answers for this raw path. Every other path is the host's. */
export function ownsPath(path: string): boolean {
  return resourceAt(path) !== undefined;
}

/**
 * What a request asks for. A path that is not ours is refused too: on bare `node:http` nobody else
 * is there.
 */
export function findRoute(
  request: Pick<GatewayRequest, 'method' | 'path' | 'search' | 'headers'>,
  settings: KeySettings,
): Route {
  if (request.method === 'POST') {
    if (request.path === chatPath) return chatRoute;
    if (request.path === imagesPath) return imagesRoute;
  }
  const resource = readAsModel(resourceAt(request.path), request.method);
  const speaks = speakerOf(resource, request, settings);
  if (resource === undefined) return refused(speaks, notOurs(request));
  if (resource.at === 'edits') return refused(speaks, noEdits());
  if (resource.at === 'unreadable') return refused(speaks, unreadablePath());

  const isList = resource.at === 'models';
  const missingSuffix = isList && resource.modelId !== undefined && request.method === 'POST';
  if (missingSuffix && speaks === 'gemini') return refused(speaks, noSuffix());
  if (resource.at === 'method' && !Object.hasOwn(nativeMethods, resource.method)) {
    return refused(speaks, unknownMethod(resource.method));
  }

  const allow = isList ? 'GET, HEAD' : 'POST';
  if (request.method === 'OPTIONS') return { kind: 'options', speaks, allow };
  if (!allow.split(', ').includes(request.method)) {
    return refused(speaks, wrongMethod(request.method, allow));
  }
  if (isList) return { kind: 'models', speaks, modelId: resource.modelId };
  return resource.at === 'method'
    ? callRoute(resource, speaks, request.search)
    : bodyRoute(resource.at);
}

/** A model's name may end like a method, `m:free`: whoever GETs that asks for the model. */
function readAsModel(resource: Resource | undefined, method: string): Resource | undefined {
  if (resource?.at !== 'method' || Object.hasOwn(nativeMethods, resource.method)) return resource;
  if (method !== 'GET' && method !== 'HEAD') return resource;
  return { at: 'models', native: true, modelId: `${resource.modelId}:${resource.method}` };
}

/** A call that says everything in its body. */
function bodyRoute(operation: 'chat' | 'images'): Route {
  return {
    kind: 'call',
    speaks: 'openai',
    protocol: operation,
    operation,
    framing: 'json',
    modelId: undefined,
  };
}

function callRoute(
  resource: Extract<Resource, { at: 'method' }>,
  speaks: CallerDialectName,
  search: string,
): Route {
  const streamed = resource.method === 'streamGenerateContent';
  const streamFraming = new URLSearchParams(search).get('alt') === 'sse' ? 'sse' : 'json_array';
  return {
    kind: 'call',
    speaks,
    protocol: 'native',
    operation: nativeMethods[resource.method] ?? 'generate',
    framing: streamed ? streamFraming : 'json',
    modelId: resource.modelId,
  };
}

function resourceAt(path: string): Resource | undefined {
  if (path === chatPath) return { at: 'chat' };
  if (path === imagesPath) return { at: 'images' };
  if (path === '/v1/images/edits') return { at: 'edits' };
  if (path.startsWith('/v1beta/')) return modelResource(path.slice('/v1beta/'.length), true);
  if (path.startsWith('/v1/')) return modelResource(path.slice('/v1/'.length), false);
  return undefined;
}

/**
 * What stands between the version and the last colon names a model; slashes and colons are legal in
 * it.
 */
function modelResource(raw: string, beta: boolean): Resource | undefined {
  const rest = decodeOnce(raw);
  const named = rest ?? raw;
  const inModels = named === 'models' || named.startsWith('models/');
  const isOurs =
    inModels || (beta && named.startsWith('tunedModels/')) || endsWithMethod(named, beta);
  if (!isOurs) return undefined;
  if (rest === undefined || !isPlain(rest)) return { at: 'unreadable' };
  if (rest === 'models') return { at: 'models', native: beta, modelId: undefined };

  const colon = rest.lastIndexOf(':');
  const method = rest.slice(colon + 1);
  if (colon > 0 && /^[a-zA-Z]+$/.test(method) && (beta || Object.hasOwn(nativeMethods, method))) {
    return { at: 'method', modelId: modelName(rest.slice(0, colon)), method };
  }
  return { at: 'models', native: beta, modelId: modelName(rest) };
}

function endsWithMethod(rest: string, beta: boolean): boolean {
  const method = rest.slice(rest.lastIndexOf(':') + 1);
  if (method.length === rest.length) return false;
  return Object.hasOwn(nativeMethods, method) || (beta && /^[a-zA-Z]+$/.test(method));
}

/** Google's clients send `models/x` for a bare name, and a resource of another kind as it is. */
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

/** Neither a control character nor a segment that could climb: such a name is never a model's. */
function isPlain(rest: string): boolean {
  return (
    !/[\p{Cc}\\]/u.test(rest) &&
    !rest.split('/').some((segment) => segment === '.' || segment === '..' || segment === '')
  );
}

/** `/v1/models` is where both dialects meet: the place of the key tells them apart. */
function speakerOf(
  resource: Resource | undefined,
  request: Pick<GatewayRequest, 'path' | 'search' | 'headers'>,
  settings: KeySettings,
): CallerDialectName {
  if (request.path.startsWith('/v1beta')) return 'gemini';
  if (resource?.at === 'method') return 'gemini';
  return resource?.at === 'models' && hasOnlyNativeKey(request, settings) ? 'gemini' : 'openai';
}

function hasOnlyNativeKey(
  { headers, search }: Pick<GatewayRequest, 'search' | 'headers'>,
  { nativeKeyHeaders, allowQueryKey }: KeySettings,
): boolean {
  if (headers.authorization !== undefined) return false;
  if (nativeKeyHeaders.some((name) => headers[name] !== undefined)) return true;
  return allowQueryKey && new URLSearchParams(search).has('key');
}

function refused(speaks: CallerDialectName, error: GatewayError): Route {
  return { kind: 'refused', speaks, error };
}

function notOurs({ method, path }: Pick<GatewayRequest, 'method' | 'path'>): GatewayError {
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
    'Image editing is not offered here. Use POST /v1/images/generations.',
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
    'The path lacks its method. POST to /v1beta/models/{model}:generateContent.',
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
