/**
 * The console's own sign-in, for hosts that have none: a link that works once gives a session in a
 * cookie. Tokens and sessions are kept in memory by their digests. Neither can be used as an API
 * key.
 */

import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { AdminAccess } from '../admin/http/access.ts';
import { targetOf } from '../admin/http/request.ts';
import { type Clock, systemClock } from '../clock.ts';
import { ConfigurationError } from '../errors.ts';
import { aClock, checkMakerOptions, strict, text } from '../ports/set-up.ts';
import { digestSecret } from '../secret.ts';

/** Options of {@link consoleSignIn}. */
export interface ConsoleSignInOptions {
  readonly clock?: Clock;
}

/** The sign-in of one console. */
export interface ConsoleSignIn {
  /**
   * A link that signs in once, within ten minutes. Whoever has it may do what `access` says, by
   * default everything under the name `console`. The token is in the fragment, which browsers do
   * not send, so that no log has it.
   *
   * @param url the URL of the console: `http://127.0.0.1:8787/console`
   * @throws ConfigurationError if `url` is not an http or https URL
   */
  link(url: string, access?: AdminAccess): string;
  /** The operator whose session this request has; the handler calls it. */
  authorize(request: IncomingMessage): AdminAccess | undefined;
  /**
   * The id of a new session for the token of a link, in place of the session that the request has;
   * the handler calls it.
   */
  exchange(request: IncomingMessage, token: string): ConsoleExchange;
  /** Ends the session of this request; the handler calls it. */
  signOut(request: IncomingMessage): void;
}

/** The result of exchanging a token. */
export type ConsoleExchange =
  /** `actor`: who has signed in. */
  | { readonly sessionId: string; readonly actor: string }
  | { readonly refused: 'unknown' }
  | { readonly refused: 'too_many'; readonly retryAfterMs: number };

const optionsSchema = strict('must be an object', {
  clock: aClock.optional(),
} satisfies Record<keyof ConsoleSignInOptions, z.ZodType>);

/** Without `via`: a session is a cookie, which browsers also send for the pages of other sites. */
const accessSchema = strict('must be { actor, can }', {
  actor: text('must be the name of who signs in'),
  can: z.enum(['read', 'manage'], "must be 'read' or 'manage'"),
} satisfies Record<Exclude<keyof AdminAccess, 'via'>, z.ZodType>);

/**
 * Creates the sign-in of a console.
 *
 * ```ts
 * const signIn = consoleSignIn();
 * app.use(consoleHandler(admin, { path: '/console', signIn }));
 * print(signIn.link('http://127.0.0.1:8787/console'));
 * ```
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function consoleSignIn(options: ConsoleSignInOptions = {}): ConsoleSignIn {
  checkMakerOptions('consoleSignIn', optionsSchema, options);
  const { clock = systemClock() } = options;
  const tokens = tokensOf(clock);
  const sessions = sessionsOf(clock);

  return {
    link: (url, access = { actor: 'console', can: 'manage' }) => {
      const { origin, pathname } = addressOf(url);
      checkMakerOptions('link', accessSchema, access);
      const path = pathname.replace(/(?<!\/)\/+$/, '');
      return `${origin}${path}/sign-in#token=${tokens.issue(access)}`;
    },
    authorize: (request) => {
      // The page requests live figures by itself, which does not show that a person is active.
      const isActive = !/\/api\/(?:events|now)$/.test(targetOf(request).path);
      return sessions.find(sessionIdsIn(request), isActive);
    },
    exchange: (request, token) => {
      const retryAfterMs = tokens.tooManyForMs();
      const access = tokens.take(token);
      if (access === undefined && retryAfterMs > 0) return { refused: 'too_many', retryAfterMs };
      if (access === undefined) return { refused: 'unknown' };
      // Ends the previous session, whose cookie the browser replaces.
      sessions.end(sessionIdsIn(request));
      return { sessionId: sessions.open(access), actor: access.actor };
    },
    signOut: (request) => sessions.end(sessionIdsIn(request)),
  };
}

function addressOf(url: string): URL {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  if (address?.protocol === 'http:' || address?.protocol === 'https:') return address;
  throw new ConfigurationError(
    'link: url must be the URL of the console, such as http://127.0.0.1:8787/console.',
  );
}

const tokenMs = 10 * 60_000;
const maxTokens = 100;
/**
 * How many wrong tokens within `attemptsMs` are reported one by one. A right token works however
 * many wrong ones came: nobody can guess 256 bits, and otherwise anybody could lock the operator
 * out.
 */
const maxAttempts = 20;
const attemptsMs = 60_000;

interface Tokens {
  /** Issues a token. If too many are unused, the oldest no longer works. */
  issue(access: AdminAccess): string;
  /** Uses up a token, and returns its access; undefined if it is wrong, used or too old. */
  take(token: string): AdminAccess | undefined;
  /** For how long there have been too many wrong ones, in ms; 0 if there have not. */
  tooManyForMs(): number;
}

/** Tokens are kept as digests, for ten minutes. */
function tokensOf(clock: Clock): Tokens {
  const tokens = new Map<string, { readonly access: AdminAccess; readonly endsMs: number }>();
  let failures: readonly number[] = [];

  const tooManyForMs = (): number => {
    const [first] = failures;
    if (first === undefined || failures.length < maxAttempts) return 0;
    return Math.max(0, first + attemptsMs - clock.now());
  };

  return {
    issue: (access) => {
      const [oldest] = tokens.keys();
      if (tokens.size === maxTokens && oldest !== undefined) tokens.delete(oldest);
      const token = newSecret();
      tokens.set(digestSecret(token), { access, endsMs: clock.now() + tokenMs });
      return token;
    },
    take: (token) => {
      const digest = digestSecret(token);
      const found = tokens.get(digest);
      tokens.delete(digest);
      if (found !== undefined && clock.now() < found.endsMs) return found.access;
      if (tooManyForMs() === 0) failures = [...failures, clock.now()].slice(-maxAttempts);
      return undefined;
    },
    tooManyForMs,
  };
}

function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

export const sessionMs: number = 12 * 3_600_000;
const idleMs = 30 * 60_000;
const maxSessions = 100;

interface Sessions {
  /** Opens a session and returns its id. If there are too many, the oldest one ends. */
  open(access: AdminAccess): string;
  /**
   * The operator of one of these sessions. `isActive`: a person did something, so that the idle
   * time starts again.
   */
  find(ids: readonly string[], isActive: boolean): AdminAccess | undefined;
  end(ids: readonly string[]): void;
}

interface Session {
  readonly access: AdminAccess;
  readonly sinceMs: number;
  usedMs: number;
}

/** Sessions end after 30 minutes without a request, and after 12 hours. */
function sessionsOf(clock: Clock): Sessions {
  const sessions = new Map<string, Session>();

  const endOld = (): void => {
    const nowMs = clock.now();
    for (const [digest, { usedMs, sinceMs }] of sessions) {
      if (nowMs - usedMs >= idleMs || nowMs - sinceMs >= sessionMs) sessions.delete(digest);
    }
  };

  return {
    open: (access) => {
      endOld();
      const [oldest] = sessions.keys();
      if (sessions.size === maxSessions && oldest !== undefined) sessions.delete(oldest);
      const id = newSecret();
      const nowMs = clock.now();
      sessions.set(digestSecret(id), { access, sinceMs: nowMs, usedMs: nowMs });
      return id;
    },
    find: (ids, isActive) => {
      endOld();
      const session = ids
        .map((id) => sessions.get(digestSecret(id)))
        .find((found) => found !== undefined);
      if (session !== undefined && isActive) session.usedMs = clock.now();
      return session?.access;
    },
    end: (ids) => {
      for (const id of ids) sessions.delete(digestSecret(id));
    },
  };
}

/**
 * Browsers share cookies among the ports of a host name. The name contains the port, so that two
 * consoles on one machine don't overwrite each other's cookie.
 */
const name = 'tollgate_console_';
const format = /^tollgate_console_\d+=([\w-]{43})$/;

/**
 * The ids of sessions in a request: several where one console is mounted below another, or another
 * server of this host name has set cookies. All are returned, because such a server could otherwise
 * set enough of them to lock the operator out. Node limits the size of the header.
 */
function sessionIdsIn({ headers }: IncomingMessage): readonly string[] {
  return (headers.cookie ?? '').split(';').flatMap((pair) => format.exec(pair.trim())?.[1] ?? []);
}

/** The cookie of a new session; with the age 0, the cookie that deletes it. */
export function sessionCookie(
  request: IncomingMessage,
  path: string,
  { id, ageMs }: { readonly id: string; readonly ageMs: number },
): string {
  const { localPort = 0 } = request.socket;
  const attributes = `HttpOnly; SameSite=Strict; Path=${path}; Max-Age=${ageMs / 1_000}`;
  return `${name}${localPort}=${id}; ${attributes}${isSecure(request) ? '; Secure' : ''}`;
}

/** Whether the browser uses TLS: with this process, or with a proxy, as its `Origin` says. */
function isSecure({ headers, socket }: IncomingMessage): boolean {
  return Reflect.get(socket, 'encrypted') === true || /^https:/i.test(headers.origin ?? '');
}
