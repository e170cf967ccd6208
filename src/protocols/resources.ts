/**
 * What a path stands for, also one that a client with a wrong base URL sends, and what is answered
 * on paths of provider APIs that are not served: in the provider's format, what is.
 */
import type { Operation, PathMethod } from '../apis.ts';
import { azureCaller, openaiCaller } from './callers/openai.ts';
import type { CallRoute, PathSettings, Protocol, StoredReplyRoute } from './protocol.ts';

/** A path that the gateway answers, before method and headers are checked. */
export type Resource =
  | { readonly at: 'call'; readonly route: CallRoute }
  | { readonly at: 'models'; readonly modelId: string | undefined }
  | { readonly at: 'method'; readonly modelId: string; readonly method: string }
  | { readonly at: 'stored_reply'; readonly route: StoredReplyRoute }
  | { readonly at: 'unserved'; readonly listed: string }
  | { readonly at: 'key' | 'unreadable' };

interface OwnedMethod extends PathMethod {
  readonly protocol: Protocol;
}

export interface PathTable {
  readonly rows: readonly Protocol[];
  readonly calls: ReadonlyMap<string, CallRoute>;
  readonly methods: ReadonlyMap<string, OwnedMethod>;
}

export function pathTable(rows: readonly Protocol[]): PathTable {
  return { rows, calls: new Map(rows.flatMap(pathsOf)), methods: new Map(rows.flatMap(methodsOf)) };
}

/**
 * A model's name may look as if it ended in a method, such as `m:free`: a GET asks for the model.
 */
export function readAsModel(
  resource: Resource | undefined,
  method: string,
  { methods }: PathTable,
): Resource | undefined {
  if (resource?.at !== 'method' || methods.has(resource.method)) return resource;
  if (method !== 'GET' && method !== 'HEAD') return resource;
  return { at: 'models', modelId: `${resource.modelId}:${resource.method}` };
}

/** What a raw path stands for; undefined for a path of the host. */
export function resourceAt(
  rawPath: string,
  table: PathTable,
  { ownerRoutes, azurePaths }: Pick<PathSettings, 'ownerRoutes' | 'azurePaths'>,
): Resource | undefined {
  const path = rawPath.endsWith('/') ? rawPath.slice(0, -1) : rawPath;
  const route = table.calls.get(path);
  if (route !== undefined) return { at: 'call', route };
  if (azurePaths && isAzurePath(path)) return azureResourceAt(path, table);
  if (!path.startsWith('/v1')) return undefined;
  if (ownerRoutes && path === '/v1/key') return { at: 'key' };
  return modelAt(path, table) ?? storedReplyAt(path, table) ?? unservedAt(path);
}

/** A path of a client with a wrong base URL, by paths of the table, not as the caller wrote it. */
export interface MisplacedPath {
  readonly resource: Resource;
  /** The path that was requested, and the right one, without the name of a model or a reply. */
  readonly requested: string;
  readonly intended: string;
  /** The version is missing, or another one, `added`, is before it; or the whole path is twice. */
  readonly fault: 'missing' | 'twice' | 'whole';
  readonly added?: string;
}

export function misplacedAt(
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
    if (added !== undefined) {
      return { resource, requested: added + intended, intended, fault: 'twice', added };
    }
    const requested = intended.replace(/^\/v1(?:beta)?/, '');
    return { resource, requested, intended, fault: 'missing' };
  }
  return undefined;
}

const twice = /^(\/v1(?:beta)?)\/v1(?:beta)?\//;

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

export function isAzurePath(path: string): boolean {
  return path.startsWith('/openai/');
}

const azurePath = /^\/openai(?:\/v1|\/deployments\/([^/]+))?(\/.+)$/;

/**
 * What OpenAI's clients find at `/v1`, Azure's find at `/openai/v1`, at `/openai`, or below the
 * name of a deployment, which is that of the model.
 */
function azureResourceAt(path: string, table: PathTable): Resource | undefined {
  const [, deployment, rest = ''] = azurePath.exec(path) ?? [];
  const found = resourceAt(`/v1${rest}`, table, { ownerRoutes: false, azurePaths: false });
  const caller = azureCaller;
  switch (found?.at) {
    case 'call': {
      if (found.route.caller !== openaiCaller) return undefined;
      if (deployment === undefined) return { at: 'call', route: { ...found.route, caller } };
      const modelId = decodeOnce(deployment);
      const isName = modelId !== undefined && isPlain(modelId) && !modelId.includes('/');
      return isName
        ? { at: 'call', route: { ...found.route, caller, modelId } }
        : { at: 'unreadable' };
    }
    case 'stored_reply': {
      const route = { ...found.route, caller };
      return deployment === undefined ? { at: 'stored_reply', route } : undefined;
    }
    case 'models':
      return deployment === undefined ? found : undefined;
    case 'unserved':
      return isAnthropicPath(found.listed) ? undefined : found;
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

/** From the version to the last colon: a model's name may contain slashes and colons. */
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

export function methodIn(rest: string): string | undefined {
  const colon = rest.lastIndexOf(':');
  return colon === -1 ? undefined : rest.slice(colon + 1);
}

/** Below `/v1beta` anything that looks like a method counts as one, even if unknown. */
export function isMethod(name: string | undefined, beta: boolean, { methods }: PathTable): boolean {
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

/** Paths that only Anthropic has. A path comes before those above it. */
const anthropicPaths: readonly string[] = ['/v1/complete', '/v1/messages/batches', '/v1/messages'];
const batches = 'Batches are not offered: send each request by itself.';
const files = 'Files are not stored: send their content inside the request that needs it.';
const alternatives: ReadonlyMap<string, string> = new Map([
  ['/v1/batches', batches],
  ['/v1/messages/batches', batches],
  ['/v1/files', files],
  ['/v1/uploads', files],
]);

/**
 * Paths below `/v1` of OpenAI and Anthropic, each with everything below it. Administrative paths,
 * such as `/v1/organizations`, are not listed: they are not called with a model's API key, and a
 * host may well have its own. `/v1/engines` is left to the host too.
 */
export const unservedPaths: readonly string[] = [
  ...anthropicPaths,
  ...['/v1/assistants', '/v1/audio', '/v1/batches', '/v1/chat/completions', '/v1/chatkit'],
  ...['/v1/completions', '/v1/containers', '/v1/conversations', '/v1/dashboard/billing'],
  ...['/v1/edits', '/v1/evals', '/v1/files', '/v1/fine-tunes', '/v1/fine_tuning'],
  ...['/v1/images/edits', '/v1/images/variations', '/v1/moderations', '/v1/realtime'],
  ...['/v1/responses', '/v1/skills', '/v1/threads', '/v1/uploads', '/v1/vector_stores'],
  ...['/v1/videos'],
];

/**
 * The listed path that a raw path is, or is below; undefined if it is none of a provider. Google's
 * are all paths below `/v1beta`.
 */
function unservedPath(path: string): string | undefined {
  if (path.startsWith('/v1beta/')) return '/v1beta';
  return unservedPaths.find(
    (listed) => path.startsWith(listed) && isSegmentEnd(path, listed.length),
  );
}

export function insteadOf(listed: string): string {
  return alternatives.get(listed) ?? '';
}

export function isAnthropicPath(listed: string): boolean {
  return anthropicPaths.includes(listed);
}

function isSegmentEnd(path: string, at: number): boolean {
  return path.length === at || path[at] === '/';
}
