/**
 * The admin library over HTTP, under a path that the host chooses, with the live figures as server-
 * sent events. There is no such route unless the handler is mounted.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import { aFunction, checkMakerOptions, strict } from '../../ports/set-up.ts';
import type { Admin } from '../admin.ts';
import { AdminError, adminErrorOf, isAdminError } from '../admin-error.ts';
import type { NowRange } from '../now/now.ts';
import { adminOpenApi } from './openapi.ts';
import {
  closeAfterwards,
  csvExports,
  jsonTextOf,
  reportedError,
  type SendExport,
  sendFailure,
  sendJson,
  startReply,
} from './reply.ts';
import {
  type AdminAccess,
  type Authorize,
  accessOf,
  checkChange,
  checkHost,
  readJson,
  sessionOf,
  targetOf,
} from './request.ts';
import { checkedBy, hostNames, isExport, nowQuery, type Route } from './route.ts';
import { checkTexts, routeAt } from './routes.ts';

/** Where the handler is mounted, and who may use it. */
export interface AdminHandlerOptions<R extends IncomingMessage = IncomingMessage> {
  /** The path as clients see it: `/admin`. The interface is below it, at `/admin/api`. */
  readonly path: string;
  /** Required: there is no default. */
  readonly authorize: Authorize<R>;
  /**
   * The host names under which clients reach the handler. Default: any, but on a loopback address
   * only `localhost` and loopback addresses. Needed behind a proxy on the same machine that passes
   * on the `Host` of the client.
   */
  readonly hosts?: readonly string[];
  /** Receives errors that the reply does not explain, such as those of a database. */
  readonly onError?: (error: unknown) => void;
}

/** A listener for `createServer`, or a middleware of Express if called with `next`. */
export type AdminHandler<R extends IncomingMessage = IncomingMessage> = (
  request: R,
  response: ServerResponse,
  next?: (error?: unknown) => void,
) => Promise<void>;

const optionsSchema = strict('must be an object', {
  path: z.string('must be a path: /admin').regex(/^\/[^?#]*[^/?#]$/, 'must be a path: /admin'),
  authorize: aFunction,
  hosts: hostNames,
  onError: aFunction.optional(),
} satisfies Record<keyof AdminHandlerOptions, z.ZodType>);

/**
 * Serves `{path}/api`. Other paths go to `next`; without `next` they are answered with 404. Never
 * rejects.
 *
 * ```ts
 * app.use(adminHandler(admin, { path: '/admin', authorize: signedInOperator }));
 * ```
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function adminHandler<R extends IncomingMessage = IncomingMessage>(
  admin: Admin,
  options: AdminHandlerOptions<R>,
): AdminHandler<R> {
  checkMakerOptions('adminHandler', optionsSchema, options, {
    path: 'Give it the path below which it is mounted',
    authorize: 'Give it a function that returns { actor, can } for a signed-in operator',
  });
  const sendExport = csvExports(admin.clock);
  const mount = { ...options, path: `${options.path}/api` };
  return mounted(admin, mount, async (request, response, target) => {
    const left = new AbortController();
    response.once('close', () => left.abort());
    const { signal } = left;
    try {
      await serve({ admin, options, sendExport, request, response, signal, ...target });
    } catch (error) {
      if (error !== signal.reason) throw error;
    }
  });
}

/**
 * Serves what is at a path and below it. Other paths go to `next`; without `next` they are answered
 * with 404. Never rejects.
 */
export function mounted<R extends IncomingMessage>(
  admin: Admin,
  { path: base, hosts, onError }: Omit<AdminHandlerOptions, 'authorize'>,
  answer: (request: R, response: ServerResponse, target: Target) => Promise<void>,
): AdminHandler<R> {
  return async (request, response, next) => {
    const { path, query } = targetOf(request);
    const isOurs = path === base || path.startsWith(`${base}/`);
    if (!isOurs && next !== undefined) return next();
    try {
      if (admin.isClosing()) closeAfterwards(response);
      if (!isOurs) throw new AdminError('not_found', 'There is nothing at this path.');
      checkHost(request, hosts);
      await answer(request, response, { path: path.slice(base.length), search: query });
    } catch (error) {
      sendFailure(response, error, onError);
    }
  };
}

interface Target {
  /** Below the path of the mount. */
  readonly path: string;
  readonly search: string;
}

interface Exchange<R extends IncomingMessage> extends Target {
  readonly admin: Admin;
  readonly options: AdminHandlerOptions<R>;
  readonly request: R;
  readonly response: ServerResponse;
  readonly sendExport: SendExport;
  readonly signal: AbortSignal;
}

async function serve<R extends IncomingMessage>(exchange: Exchange<R>): Promise<void> {
  const { admin, options, sendExport, request, response, path, search } = exchange;
  // First, so that nobody can find out what exists without signing in.
  const access = await accessOf(options.authorize, request, admin.clock);
  const isHead = request.method === 'HEAD';
  const method = isHead ? 'GET' : request.method;
  if (method === 'GET' && path === '/events') {
    const again = () => accessOf(options.authorize, request, admin.clock);
    const { range } = checkedBy(nowQuery, parametersOf(search));
    return streamEvents(admin, response, again, { isHead, range, onError: options.onError });
  }
  if (method === 'GET' && path === '/session') {
    return sendJson(response, 200, sessionOf(admin, access));
  }
  if (method === 'GET' && path === '/openapi.json') {
    return sendJson(response, 200, await adminOpenApi());
  }
  const { route, id } = routeAt(method, path);
  const reply = await answerOf(route, id, access, exchange);
  if (isExport(route, reply)) return sendExport(response, reply, isHead);
  sendJson(response, route.status ?? 200, reply);
}

/** Runs a route. A change that is refused or fails leaves exactly one entry in the audit trail. */
async function answerOf<R extends IncomingMessage>(
  route: Route,
  id: string | undefined,
  access: AdminAccess,
  { admin, request, search, signal }: Exchange<R>,
): Promise<unknown> {
  const { action } = route;
  try {
    const body = await checkedBody(route, request, access, admin.clock);
    if (id === undefined) {
      throw new AdminError('invalid_request', 'The id in the path is malformed or too long.');
    }
    const query = parametersOf(search);
    checkTexts(query);
    checkTexts(body);
    return await route.run({ admin, access, id, query, body, signal });
  } catch (error) {
    if (action !== undefined && !admin.audit.hasEntryOf(error)) {
      const target = id === '' ? undefined : id;
      const subject = { actor: access.actor, action, target, change: {} };
      await admin.audit.refused(subject, adminErrorOf(error).code);
    }
    throw error;
  }
}

async function checkedBody(
  { method, action, maxBodyBytes }: Route,
  request: IncomingMessage,
  { can, via }: AdminAccess,
  clock: Clock,
): Promise<unknown> {
  if (method === 'GET') return {};
  if (action !== undefined && can !== 'manage') {
    throw new AdminError('read_only', 'Your access is read-only. A change needs `manage`.');
  }
  checkChange(request, via);
  return readJson(request, clock, maxBodyBytes);
}

/** A parameter that was sent twice becomes a list, which the schemas refuse. */
function parametersOf(search: string): Readonly<Record<string, string | readonly string[]>> {
  const parameters = new URLSearchParams(search);
  return Object.fromEntries(
    [...new Set(parameters.keys())].map((name) => {
      const [value = '', ...others] = parameters.getAll(name);
      return [name, others.length === 0 ? value : [value, ...others]];
    }),
  );
}

const everyMs = 2_000;
const authorizeEveryMs = 60_000;

interface StreamOptions {
  readonly isHead: boolean;
  readonly range: NowRange | undefined;
  readonly onError: ((error: unknown) => void) | undefined;
}

/**
 * Sends `event: now` at once and every 2 s; an event is skipped while the client has not read the
 * last one. It checks every minute whether the operator is still signed in; if not,
 * `event: signed-out` ends the stream. The stream also ends when the library or its gateway is
 * closed, because a server that is closing waits for it. Later requests get 204, which tells
 * browsers not to reconnect.
 */
async function streamEvents(
  admin: Admin,
  response: ServerResponse,
  authorizeAgain: () => Promise<unknown>,
  { isHead, range, onError }: StreamOptions,
): Promise<void> {
  closeAfterwards(response);
  if (admin.isClosing()) {
    startReply(response, 204, {});
    response.end();
    return;
  }
  startReply(response, 200, {
    'content-type': 'text/event-stream; charset=utf-8',
    // A host's compression middleware would keep the events until the end.
    'cache-control': 'no-store, no-transform',
  });
  if (isHead) {
    response.end();
    return;
  }
  const send = sender(admin, response, authorizeAgain, { range, onError });
  const stop = admin.clock.every(everyMs, () => void send());
  response.once('close', stop);
  // A connection that broke reports an error of the response, which needs a listener.
  response.on('error', stop);
  await send();
}

/** Sends the current figures, unless the last ones are still being sent. */
function sender(
  { clock, now, isClosing }: Admin,
  response: ServerResponse,
  authorizeAgain: () => Promise<unknown>,
  { range, onError }: Omit<StreamOptions, 'isHead'>,
): () => Promise<void> {
  let askedMs = clock.monotonicMs();
  let isBusy = false;
  return async () => {
    if (isClosing()) return end(response);
    if (isBusy || response.writableNeedDrain) return;
    isBusy = true;
    try {
      if (clock.monotonicMs() - askedMs >= authorizeEveryMs) {
        askedMs = clock.monotonicMs();
        await authorizeAgain();
      }
      const figures = jsonTextOf(await now(range));
      if (!response.destroyed && !response.writableEnded) {
        response.write(`event: now\ndata: ${figures}\n\n`);
      }
    } catch (error) {
      // An AdminError comes from the sign-in only. Figures that can't be read are tried again
      // later.
      if (!isAdminError(error)) return;
      const { code } = reportedError(error, onError);
      // If `authorize` failed, the operator may still be signed in: the browser reconnects.
      response.end(code === 'unavailable' ? '' : 'event: signed-out\ndata: {}\n\n');
    } finally {
      isBusy = false;
    }
  };
}

/** A client that has stopped reading would not get the end of the stream either. */
function end(response: ServerResponse): void {
  if (response.writableNeedDrain) response.destroy();
  else response.end();
}
