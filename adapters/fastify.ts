/**
 * Mounts a gateway in Fastify 5, as a plugin whose routes have no body parser: the parsers, hooks
 * and handlers of the host's other routes are not changed.
 */
import { apiCalls } from '../src/apis.ts';
import type { GatewayHandler } from '../src/http.ts';
import { type HostRequest, type HostResponse, memberOf, type ParsedBody } from './host.ts';
import {
  type AdapterState,
  adapterState,
  answerRefused,
  answerRequest,
  checkMount,
  isBelowPrefix,
  mountedPath,
  type Refusal,
} from './record.ts';

export type { HostRequest, HostResponse } from './host.ts';

/** A response whose headers the host's hooks have set on Fastify's reply. */
export interface FastifyHostResponse extends HostResponse {
  setHeader(name: string, value: number | string | readonly string[]): unknown;
}

/** The parts of Fastify's request that the adapter uses. */
export interface FastifyHostRequest extends ParsedBody {
  readonly raw: HostRequest;
}

/** The parts of Fastify's reply that the adapter uses. */
export interface FastifyHostReply {
  readonly raw: FastifyHostResponse;
  getHeaders(): Readonly<Record<string, number | string | string[] | undefined>>;
  hijack(): unknown;
  callNotFound(): unknown;
}

/** Handles what a hook threw, usually an `Error`. */
export type FastifyHostErrorHandler = (
  error: Error,
  request: FastifyHostRequest,
  reply: FastifyHostReply,
) => unknown;

/** A route of the plugin. */
export interface FastifyHostRoute {
  readonly method: string[];
  readonly url: string;
  readonly handler: (request: FastifyHostRequest, reply: FastifyHostReply) => void;
  readonly errorHandler: FastifyHostErrorHandler;
}

/** Reads no body. `done` passes on the stream of a hook that replaced it. */
export type FastifyHostParser = (
  request: FastifyHostRequest,
  payload: unknown,
  done: (error: Error | null, body?: unknown) => void,
) => void;

/** The parts of a Fastify instance that the adapter uses. */
export interface FastifyHost {
  readonly prefix: string;
  /** The host's error handler, or Fastify's own. */
  errorHandler(error: Error, request: FastifyHostRequest, reply: FastifyHostReply): unknown;
  removeAllContentTypeParsers(): void;
  addContentTypeParser(contentType: string, parser: FastifyHostParser): unknown;
  route(route: FastifyHostRoute): unknown;
  hasRoute(route: { readonly method: string; readonly url: string }): boolean;
}

/**
 * A plugin for `app.register`. Declared without Fastify's types, so that only a host with Fastify
 * needs the package.
 */
export type FastifyPlugin = (instance: FastifyHost, options: unknown) => Promise<void>;

/**
 * Answers the gateway's requests below the `prefix` of the registration; all other paths, and
 * `OPTIONS`, are answered as if the plugin were not there. Registered at the prefix `/v1`, it needs
 * a second registration at `/v1beta` for the native (Gemini) API.
 *
 * The host's hooks up to `preHandler` run before the gateway, and may refuse a request or set
 * headers. The reply is written to the raw response, so `onSend` and `preSerialization` hooks do
 * not run; `onResponse` hooks do. Fastify's `bodyLimit` does not apply: `maxBodyBytes` of the
 * gateway does.
 *
 * ```ts
 * app.register(fastifyAdapter(gateway));
 * app.register(fastifyAdapter(gateway), { prefix: '/llm' });
 * ```
 */
export function fastifyAdapter(gateway: GatewayHandler): FastifyPlugin {
  checkMount('fastifyAdapter', gateway, {});
  const state = adapterState();
  return async function tollgate(instance) {
    const { prefix } = instance;
    const mount: Mount = { gateway, state, pathOf: pathBelow(prefix) };
    instance.removeAllContentTypeParsers();
    instance.addContentTypeParser('*', keepUnread);
    const add = (url: string, method: string[]): unknown =>
      instance.route({
        method,
        url,
        handler: answering(mount),
        errorHandler: refusing(mount, instance),
      });
    if (/\/v1(?:beta)?\/?$/.test(prefix)) {
      add('/*', [...methods]);
      return;
    }
    for (const url of ['/v1/*', '/v1beta/*']) add(url, [...methods]);
    // Only with the option `azurePaths`: the host may have such routes itself.
    if (gateway.owns('/openai/models', 'GET')) add('/openai/*', [...methods]);
    for (const url of prefix === '' || prefix === '/' ? [] : belowPrefix) {
      // A second route of the same path and method would keep the host from starting.
      const isFree = (method: string): boolean =>
        !instance.hasRoute({ method, url: `${prefix}${url}` });
      if (methods.some(isFree)) add(url, methods.filter(isFree));
    }
  };
}

/** Below a prefix: where the gateway says that it runs, and paths that need a version. */
const belowPrefix: readonly string[] = [
  '/v1',
  '/v1beta',
  '/models',
  '/models/*',
  '/responses/*',
  ...Object.values(apiCalls).flatMap(({ paths }) =>
    Object.keys(paths).map((path) => path.replace(/^\/v1/, '')),
  ),
];

/** Not `OPTIONS`, which the host's CORS plugin answers. */
const methods: readonly string[] = ['DELETE', 'GET', 'HEAD', 'PATCH', 'POST', 'PUT'];

/** One registration of the plugin. */
interface Mount {
  readonly gateway: GatewayHandler;
  readonly state: AdapterState;
  readonly pathOf: PathOf;
}

type PathOf = (request: HostRequest) => string;

/**
 * The path as the gateway knows it. The prefix is removed by its number of segments, because it may
 * have parameters, and the host may ignore upper and lower case.
 */
function pathBelow(prefix: string): PathOf {
  const segments = prefix.split('/').filter((segment) => segment !== '').length;
  return ({ url = '' }) => {
    let start = 0;
    for (let left = segments; left > 0 && start >= 0; left -= 1)
      start = url.indexOf('/', start + 1);
    return start < 0 ? '' : mountedPath(url.slice(start), url, {});
  };
}

/** Leaves the body for the gateway, unless a hook of the host has replaced it. */
const keepUnread: FastifyHostParser = (request, payload, done) => {
  done(null, payload === request.raw ? undefined : payload);
};

function answering({ gateway, state, pathOf }: Mount): FastifyHostRoute['handler'] {
  return (request, reply) => {
    const path = pathOf(request.raw);
    const { method, url = '' } = request.raw;
    if (!gateway.owns(path, method, isBelowPrefix(path, url))) {
      reply.callNotFound();
      return;
    }
    takeOver(reply);
    void answerRequest(gateway, state, path, request.raw, reply.raw, request);
  };
}

/**
 * Answers a content type that Fastify refuses before the handler runs. All other errors are from
 * the host's hooks, and go to its error handler.
 */
function refusing(
  { gateway, state, pathOf }: Mount,
  instance: Pick<FastifyHost, 'errorHandler'>,
): FastifyHostErrorHandler {
  return (error, request, reply) => {
    const { raw } = request;
    const path = pathOf(raw);
    if (
      memberOf(error, 'code') !== 'FST_ERR_CTP_INVALID_MEDIA_TYPE' ||
      !gateway.owns(path, raw.method)
    ) {
      // Fastify passes an `instanceof Error` that is thrown here to the host's handler, but would
      // send anything else as the response.
      if (error instanceof Error) throw error;
      return instance.errorHandler(error, request, reply);
    }
    takeOver(reply);
    answerRefused(gateway, state, path, raw, reply.raw, unreadableType);
    return undefined;
  };
}

const unreadableType: Refusal = [
  'unsupported_media_type',
  'The content-type cannot be read. Send the request body as application/json in UTF-8.',
];

/**
 * Takes the response over from Fastify, with the headers of the host's hooks. They are copied
 * first, so that Fastify reports one that Node refuses.
 */
function takeOver(reply: FastifyHostReply): void {
  const { raw } = reply;
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) raw.setHeader(name, value);
  }
  reply.hijack();
}
