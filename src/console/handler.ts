/** The console over HTTP: its page, its sign-in, and the admin interface that the page uses. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import type { Admin } from '../admin/admin.ts';
import { AdminError, adminErrorOf, adminStatusOf } from '../admin/admin-error.ts';
import type { AuditSubject } from '../admin/audit/audit.ts';
import { given } from '../admin/deps.ts';
import { type AdminHandler, adminHandler, mounted } from '../admin/http/handler.ts';
import { reportedError, sendJson } from '../admin/http/reply.ts';
import { type Authorize, accessOf, checkChange, readJson } from '../admin/http/request.ts';
import { hostNames } from '../admin/http/route.ts';
import { aFunction, checkMakerOptions, methods, strict } from '../ports/set-up.ts';
import { answerLink, linksPath } from './links.ts';
import {
  consoleAssets,
  consoleHtml,
  messageHtml,
  redirect,
  sendAsset,
  sendCookie,
  sendHtml,
  signInAssets,
  signInHtml,
} from './pages.ts';
import { type ConsoleExchange, type ConsoleSignIn, sessionCookie, sessionMs } from './sign-in.ts';

interface ConsoleMount {
  /** The path as browsers see it: `/console`. */
  readonly path: string;
  /**
   * The host names under which browsers reach the console. Default: any, but on a loopback address
   * only `localhost` and loopback addresses. Needed behind a proxy on the same machine.
   */
  readonly hosts?: readonly string[];
  /** Receives errors that the reply does not explain, such as those of a database. */
  readonly onError?: (error: unknown) => void;
}

/** Where the console is mounted, and who may use it: one of `authorize` and `signIn`. */
export type ConsoleHandlerOptions<R extends IncomingMessage = IncomingMessage> = ConsoleMount &
  (
    | {
        /** The host's own sign-in: says who sends a request, and what they may do. */
        readonly authorize: Authorize<R>;
        readonly signIn?: never;
      }
    | {
        /** What `consoleSignIn` returns: sign-in by a link that works once. */
        readonly signIn: ConsoleSignIn;
        readonly authorize?: never;
      }
  );

const aPath = 'must be a path of letters, digits and . _ ~ -: /console';
const members = {
  path: z.string(aPath).regex(/^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)+$/, aPath),
  hosts: hostNames,
  onError: aFunction.optional(),
  authorize: aFunction.optional(),
  signIn: methods('authorize', 'exchange', 'signOut').optional(),
} satisfies Record<keyof ConsoleHandlerOptions, z.ZodType>;
const optionsSchema = strict('must be an object', members).refine(
  ({ authorize, signIn }) => (authorize === undefined) !== (signIn === undefined),
  { path: ['authorize'], message: 'or signIn must be given, and not both' },
);

/**
 * Serves the console at `path` and the admin interface at `{path}/api`. Other paths go to `next`;
 * without `next` they are answered with 404. Never rejects.
 *
 * ```ts
 * app.use(consoleHandler(admin, { path: '/console', authorize: signedInOperator }));
 * ```
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function consoleHandler<R extends IncomingMessage = IncomingMessage>(
  admin: Admin,
  options: ConsoleHandlerOptions<R>,
): AdminHandler<R> {
  checkMakerOptions('consoleHandler', optionsSchema, options, {
    path: 'Give it the path at which it is mounted',
    authorize: 'Give it authorize, a function that returns { actor, can }, or consoleSignIn()',
    signIn: 'Give it what consoleSignIn() returned',
  });
  const { path: base, hosts, onError, signIn } = options;
  const authorize: Authorize<R> = options.authorize ?? options.signIn.authorize;
  const mount = { path: base, ...given({ hosts, onError }) };
  const api = adminHandler<R>(admin, { ...mount, authorize });
  const served: Served<R> = { admin, base, authorize, signIn, api, onError };
  return mounted<R>(admin, mount, (request, response, { path }) =>
    serve(served, request, response, path),
  );
}

interface Served<R extends IncomingMessage> {
  readonly admin: Admin;
  readonly base: string;
  readonly authorize: Authorize<R>;
  readonly signIn: ConsoleSignIn | undefined;
  readonly api: AdminHandler<R>;
  readonly onError: ((error: unknown) => void) | undefined;
}

async function serve<R extends IncomingMessage>(
  served: Served<R>,
  request: R,
  response: ServerResponse,
  path: string,
): Promise<void> {
  const { admin, base, signIn, api } = served;
  if (path === '/api' || path.startsWith('/api/')) return api(request, response);
  const here = { admin, request, response, base, path };
  if (signIn !== undefined && (await answerSignIn(here, signIn))) return;
  const isPage = path === '' || path === '/';
  // First, so that nobody can find out what exists without signing in.
  const access = await accessOf(served.authorize, request, admin.clock).catch(adminErrorOf);
  if (!('actor' in access)) {
    const refusal = access;
    if (!isPage || !isRead(request)) throw refusal;
    if (signIn !== undefined && refusal.code === 'not_signed_in') {
      return redirect(response, `${base}/sign-in`);
    }
    const { code, message } = reportedError(refusal, served.onError);
    return sendHtml(response, messageHtml(message), adminStatusOf[code]);
  }
  if (signIn !== undefined && path === '/sign-out') {
    return answerSignOut(here, signIn, access.actor);
  }
  if (signIn !== undefined && path === linksPath) return answerLink(here, signIn, access);
  const asset = consoleAssets.get(path);
  if (!isPage && asset === undefined) {
    throw new AdminError('not_found', 'There is nothing at this path.');
  }
  if (!isRead(request)) throw new AdminError('method_not_allowed', 'Send GET.');
  if (asset !== undefined) return sendAsset(response, asset);
  sendHtml(response, consoleHtml(base, admin.title, signIn !== undefined));
}

interface ConsoleRequest extends Pick<Served<IncomingMessage>, 'admin' | 'base'> {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Below `base`: `/sign-in`. */
  readonly path: string;
}

/** Answers the paths that need no session; false for all others. */
async function answerSignIn(here: ConsoleRequest, signIn: ConsoleSignIn): Promise<boolean> {
  const { request, response, base, path } = here;
  const asset = signInAssets.get(path);
  if (path !== '/sign-in' && asset === undefined) return false;
  if (isRead(request)) {
    if (asset === undefined) sendHtml(response, signInHtml(base));
    else sendAsset(response, asset);
    return true;
  }
  if (asset !== undefined) throw new AdminError('method_not_allowed', 'Send GET.');
  if (request.method !== 'POST') throw new AdminError('method_not_allowed', 'Send GET or POST.');
  checkChange(request);
  const token = tokenOf(await readJson(request, here.admin.clock));
  await answerExchange(here, signIn.exchange(request, token));
  return true;
}

async function answerSignOut(
  { admin, request, response, base }: ConsoleRequest,
  signIn: ConsoleSignIn,
  actor: string,
): Promise<void> {
  if (request.method !== 'POST') throw new AdminError('method_not_allowed', 'Send POST.');
  checkChange(request);
  const signOut = async (): Promise<void> => signIn.signOut(request);
  await admin.audit.run(signing('console.sign_out', actor, request), signOut);
  sendCookie(response, sessionCookie(request, base, { id: '', ageMs: 0 }));
}

function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

async function answerExchange(
  { admin: { audit }, request, response, base }: ConsoleRequest,
  result: ConsoleExchange,
): Promise<void> {
  if ('sessionId' in result) {
    const cookie = { id: result.sessionId, ageMs: sessionMs };
    await audit.run(signing('console.sign_in', result.actor, request), async () => {});
    return sendCookie(response, sessionCookie(request, base, cookie));
  }
  if (result.refused === 'unknown') {
    await audit.refused(signing('console.sign_in', 'unknown', request), 'not_signed_in');
    throw new AdminError(
      'not_signed_in',
      'This link was used before, is older than ten minutes, or is from another process. Open a ' +
        'new one.',
    );
  }
  // These have no entries: otherwise anybody could fill the audit trail.
  const message = 'Too many invalid links. Try again in a minute.';
  const error = { code: 'too_many_attempts', message };
  const seconds = Math.ceil(result.retryAfterMs / 1_000);
  sendJson(response, 429, { error }, { 'retry-after': String(seconds) });
}

/** The subject of an audit entry; the address may be that of a proxy. */
function signing(
  action: 'console.sign_in' | 'console.sign_out',
  actor: string,
  { socket }: IncomingMessage,
): AuditSubject {
  const change = { address: socket.remoteAddress ?? null };
  return { actor, action, target: undefined, change };
}

function tokenOf(body: unknown): string {
  const token: unknown =
    typeof body === 'object' && body !== null ? Reflect.get(body, 'token') : undefined;
  if (typeof token === 'string') return token;
  throw new AdminError('invalid_request', 'Send { "token": "…" }.', { field: 'token' });
}
