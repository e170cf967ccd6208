/** The console over HTTP: its page, its sign-in, and the admin interface that the page uses. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import type { Admin } from '../admin/admin.ts';
import { AdminError, adminErrorOf, adminStatusOf } from '../admin/admin-error.ts';
import { type AdminAccess, type Authorize, accessOf } from '../admin/http/access.ts';
import { reportedError, sendFailure } from '../admin/http/failure.ts';
import { type AdminHandler, adminHandler } from '../admin/http/handler.ts';
import { checkHost, hostNames } from '../admin/http/host-names.ts';
import { closeAfterwards } from '../admin/http/reply.ts';
import { targetOf } from '../admin/http/target.ts';
import { aFunction, checkMakerOptions, methods } from '../ports/set-up.ts';
import { consoleAssets } from './assets.ts';
import { consoleHtml, messageHtml } from './html.ts';
import { redirect, sendAsset, sendHtml } from './reply.ts';
import type { ConsoleSignIn } from './sign-in.ts';
import { answerSignIn, answerSignOut, isRead } from './sign-in-routes.ts';

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
    | { /** The host's own sign-in. */ readonly authorize: Authorize<R>; readonly signIn?: never }
    | { /** {@link consoleSignIn}. */ readonly signIn: ConsoleSignIn; readonly authorize?: never }
  );

const aPath = 'must be a path of letters, digits and . _ ~ -: /console';
const members = {
  path: z.string(aPath).regex(/^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)+$/, aPath),
  hosts: hostNames,
  onError: aFunction.optional(),
  authorize: aFunction.optional(),
  signIn: methods('authorize', 'exchange', 'signOut').optional(),
} satisfies Record<keyof ConsoleHandlerOptions, z.ZodType>;
const optionsSchema = z
  .strictObject(members, 'must be an object')
  .refine(({ authorize, signIn }) => (authorize === undefined) !== (signIn === undefined), {
    path: ['authorize'],
    message: 'or signIn must be given, and not both',
  });

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
  const api = adminHandler<R>(admin, {
    path: base,
    authorize,
    ...(hosts === undefined ? {} : { hosts }),
    ...(onError === undefined ? {} : { onError }),
  });
  const served: Served<R> = { admin, base, authorize, signIn, api, onError };
  return async (request, response, next) => {
    const { path } = targetOf(request);
    const isOurs = path === base || path.startsWith(`${base}/`);
    if (!isOurs && next !== undefined) return next();
    try {
      if (admin.isClosing()) closeAfterwards(response);
      if (!isOurs) throw new AdminError('not_found', 'There is nothing at this path.');
      checkHost(request, hosts);
      await serve(served, request, response, path.slice(base.length));
    } catch (error) {
      sendFailure(response, error, onError);
    }
  };
}

interface Served<R extends IncomingMessage> {
  readonly admin: Admin;
  readonly base: string;
  readonly authorize: Authorize<R>;
  readonly signIn: ConsoleSignIn | undefined;
  readonly api: AdminHandler<R>;
  readonly onError: ((error: unknown) => void) | undefined;
}

/** @throws AdminError */
async function serve<R extends IncomingMessage>(
  served: Served<R>,
  request: R,
  response: ServerResponse,
  path: string,
): Promise<void> {
  const { admin, base, signIn, api } = served;
  if (path === '/api' || path.startsWith('/api/')) return api(request, response);
  const here = { request, response, base, path, audit: admin.audit, clock: admin.clock };
  if (signIn !== undefined && (await answerSignIn(here, signIn))) return;
  const isPage = path === '' || path === '/';
  // First, so that nobody can find out what exists without signing in.
  const access = await accessOrRefusal(served, request);
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
  const asset = consoleAssets.get(path);
  if (!isPage && asset === undefined) {
    throw new AdminError('not_found', 'There is nothing at this path.');
  }
  if (!isRead(request)) throw new AdminError('method_not_allowed', 'Send GET.');
  if (asset !== undefined) return sendAsset(response, asset);
  sendHtml(response, consoleHtml(base, admin.title, signIn !== undefined));
}

/** The operator who sends this request, or the error with which it is refused. */
async function accessOrRefusal<R extends IncomingMessage>(
  { authorize, admin }: Served<R>,
  request: R,
): Promise<AdminAccess | AdminError> {
  try {
    return await accessOf(authorize, request, admin.clock);
  } catch (error) {
    return adminErrorOf(error);
  }
}
