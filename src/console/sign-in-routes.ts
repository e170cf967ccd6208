/** The sign-in over HTTP: its page, the exchange of a token for a cookie, and signing out. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { AdminError } from '../admin/admin-error.ts';
import { checkChange } from '../admin/http/access.ts';
import { readJson } from '../admin/http/body.ts';
import { sendJson } from '../admin/http/reply.ts';
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
}

/**
 * Answers the paths that need no session; false for all others.
 *
 * @throws AdminError
 */
export async function answerSignIn(
  { request, response, base, path }: ConsoleRequest,
  signIn: ConsoleSignIn,
): Promise<boolean> {
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
  exchange(request, response, base, signIn.exchange(request, tokenOf(await readJson(request))));
  return true;
}

/**
 * Ends the session of a request.
 *
 * @throws AdminError
 */
export function answerSignOut(
  { request, response, base }: ConsoleRequest,
  signIn: ConsoleSignIn,
): void {
  if (request.method !== 'POST') throw new AdminError('method_not_allowed', 'Send POST.');
  checkChange(request);
  signIn.signOut(request);
  sendCookie(response, sessionCookie(request, base, { id: '', ageMs: 0 }));
}

/** Whether a request only reads. */
export function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

function exchange(
  request: IncomingMessage,
  response: ServerResponse,
  base: string,
  result: ConsoleExchange,
): void {
  if ('sessionId' in result) {
    const cookie = { id: result.sessionId, ageMs: sessionMs };
    return sendCookie(response, sessionCookie(request, base, cookie));
  }
  if (result.refused === 'unknown') {
    throw new AdminError(
      'not_signed_in',
      'This link was used before, is older than ten minutes, or is from another process.',
    );
  }
  const message = 'Too many links that were not valid. Try again in a minute.';
  sendJson(
    response,
    429,
    { error: { code: 'too_many_attempts', message } },
    { 'retry-after': String(Math.ceil(result.retryAfterMs / 1_000)) },
  );
}

function tokenOf(body: unknown): string {
  const token: unknown =
    typeof body === 'object' && body !== null ? Reflect.get(body, 'token') : undefined;
  if (typeof token === 'string') return token;
  throw new AdminError('invalid_request', 'Send { "token": "…" }.', { field: 'token' });
}
