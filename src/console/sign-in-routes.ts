/** The sign-in over HTTP: its page, the exchange of a token for a cookie, and signing out. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { AdminError } from '../admin/admin-error.ts';
import type { Audit, AuditSubject } from '../admin/audit.ts';
import { checkChange } from '../admin/http/access.ts';
import { readJson } from '../admin/http/body.ts';
import { sendJson } from '../admin/http/reply.ts';
import type { Clock } from '../clock.ts';
import { signInAssets } from './assets.ts';
import { sessionCookie } from './cookie.ts';
import { signInHtml } from './html.ts';
import { sendAsset, sendCookie, sendHtml } from './reply.ts';
import { sessionMs } from './sessions.ts';
import type { ConsoleExchange, ConsoleSignIn } from './sign-in.ts';

/** A request below the mount. */
export interface ConsoleRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Where the console is mounted. */
  readonly base: string;
  /** Below it: `/sign-in`. */
  readonly path: string;
  /** The audit trail, which records sign-ins. */
  readonly audit: Audit;
  readonly clock: Clock;
}

/**
 * Answers the paths that need no session; false for all others.
 *
 * @throws AdminError
 */
export async function answerSignIn(here: ConsoleRequest, signIn: ConsoleSignIn): Promise<boolean> {
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
  await answerExchange(
    here,
    signIn.exchange(request, tokenOf(await readJson(request, here.clock))),
  );
  return true;
}

/**
 * Ends the session of a request.
 *
 * @throws AdminError
 */
export async function answerSignOut(
  { request, response, base, audit }: ConsoleRequest,
  signIn: ConsoleSignIn,
  actor: string,
): Promise<void> {
  if (request.method !== 'POST') throw new AdminError('method_not_allowed', 'Send POST.');
  checkChange(request);
  const signOut = async (): Promise<void> => signIn.signOut(request);
  await audit.run(signing('console.sign_out', actor, request), signOut);
  sendCookie(response, sessionCookie(request, base, { id: '', ageMs: 0 }));
}

/** Whether a request only reads. */
export function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

async function answerExchange(
  { request, response, base, audit }: ConsoleRequest,
  result: ConsoleExchange,
): Promise<void> {
  if ('sessionId' in result) {
    const cookie = { id: result.sessionId, ageMs: sessionMs };
    await audit.run(signing('console.sign_in', result.actor, request), async () => {});
    return sendCookie(response, sessionCookie(request, base, cookie));
  }
  if (result.refused === 'unknown') {
    audit.refused(signing('console.sign_in', 'unknown', request), 'not_signed_in');
    throw new AdminError(
      'not_signed_in',
      'This link was used before, is older than ten minutes, or is from another process. Open a ' +
        'new one.',
    );
  }
  // These have no entries: otherwise anybody could fill the audit trail.
  const message = 'Too many invalid links. Try again in a minute.';
  sendJson(
    response,
    429,
    { error: { code: 'too_many_attempts', message } },
    { 'retry-after': String(Math.ceil(result.retryAfterMs / 1_000)) },
  );
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
