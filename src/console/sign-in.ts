/**
 * The console's own sign-in, for hosts that have none: a link that works once gives a session in a
 * cookie. Tokens and sessions are kept in memory by their digests. Neither can be used as an API
 * key.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { type AdminAccess, targetOf } from '../admin/http/request.ts';
import { type Clock, systemClock } from '../clock.ts';
import { ConfigurationError } from '../errors.ts';
import { aClock, checkMakerOptions, strict, visibleText } from '../ports/set-up.ts';
import { digestSecret } from '../secret.ts';

/** Options of {@link consoleSignIn}. */
export interface ConsoleSignInOptions {
  /** What tells the time. Default: the machine's; a test passes a fake one. */
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
  | {
      /** The secret of the new session, for a cookie. */
      readonly sessionId: string;
      /** Who has signed in, for the audit trail. */
      readonly actor: string;
    }
  | { readonly refused: 'unknown' }
  | {
      readonly refused: 'too_many';
      /** How long to wait before the next attempt, in ms. */
      readonly retryAfterMs: number;
    };

const optionsSchema = strict('must be an object', {
  clock: aClock.optional(),
} satisfies Record<keyof ConsoleSignInOptions, z.ZodType>);

/** Without `via`: a session is a cookie, which browsers also send for the pages of other sites. */
const accessSchema = strict('must be { actor, can }', {
  actor: visibleText('must be the name of who signs in'),
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
  const tokens = new Tokens(clock);
  const sessions = new Sessions(clock);

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

/** Tokens are kept as digests, for ten minutes. */
class Tokens {
  readonly #clock: Clock;
  readonly #issued = new Map<string, { readonly access: AdminAccess; readonly endsMs: number }>();
  #failures: readonly number[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Issues a token. If too many are unused, the oldest no longer works. */
  issue(access: AdminAccess): string {
    const [oldest] = this.#issued.keys();
    if (this.#issued.size === maxTokens && oldest !== undefined) this.#issued.delete(oldest);
    const token = newSecret();
    this.#issued.set(digestSecret(token), { access, endsMs: this.#clock.now() + tokenMs });
    return token;
  }

  /** Uses up a token, and returns its access; undefined if it is wrong, used or too old. */
  take(token: string): AdminAccess | undefined {
    const digest = digestSecret(token);
    const found = this.#issued.get(digest);
    this.#issued.delete(digest);
    const nowMs = this.#clock.now();
    if (found !== undefined && nowMs < found.endsMs) return found.access;
    if (this.tooManyForMs() === 0) this.#failures = [...this.#failures, nowMs].slice(-maxAttempts);
    return undefined;
  }

  /** For how long there have been too many wrong ones, in ms; 0 if there have not. */
  tooManyForMs(): number {
    const [first] = this.#failures;
    if (first === undefined || this.#failures.length < maxAttempts) return 0;
    return Math.max(0, first + attemptsMs - this.#clock.now());
  }
}

function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

export const sessionMs: number = 12 * 3_600_000;
const idleMs = 30 * 60_000;
const maxSessions = 100;

interface Session {
  readonly access: AdminAccess;
  readonly sinceMs: number;
  usedMs: number;
}

/** Sessions end after 30 minutes without a request, and after 12 hours. */
class Sessions {
  readonly #clock: Clock;
  readonly #open = new Map<string, Session>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Opens a session and returns its id. If there are too many, the oldest one ends. */
  open(access: AdminAccess): string {
    const nowMs = this.#endOld();
    const [oldest] = this.#open.keys();
    if (this.#open.size === maxSessions && oldest !== undefined) this.#open.delete(oldest);
    const id = newSecret();
    this.#open.set(digestSecret(id), { access, sinceMs: nowMs, usedMs: nowMs });
    return id;
  }

  /**
   * The operator of one of these sessions. `isActive`: a person did something, so that the idle
   * time starts again.
   */
  find(ids: readonly string[], isActive: boolean): AdminAccess | undefined {
    const nowMs = this.#endOld();
    const known = ids.map((id) => this.#open.get(digestSecret(id)));
    const session = known.find((found) => found !== undefined);
    if (session !== undefined && isActive) session.usedMs = nowMs;
    return session?.access;
  }

  end(ids: readonly string[]): void {
    for (const id of ids) this.#open.delete(digestSecret(id));
  }

  #endOld(): number {
    const nowMs = this.#clock.now();
    for (const [digest, { usedMs, sinceMs }] of this.#open) {
      if (nowMs - usedMs >= idleMs || nowMs - sinceMs >= sessionMs) this.#open.delete(digest);
    }
    return nowMs;
  }
}

/**
 * Browsers share cookies among the ports of a host name. The name contains the port, so that two
 * consoles on one machine don't overwrite each other's cookie.
 */
const cookieName = 'tollgate_console_';
const cookieFormat = /^tollgate_console_\d+=([\w-]{43})$/;

/**
 * The ids of sessions in a request: several where one console is mounted below another, or another
 * server of this host name has set cookies. All are returned, because such a server could otherwise
 * set enough of them to lock the operator out. Node limits the size of the header.
 */
function sessionIdsIn({ headers }: IncomingMessage): readonly string[] {
  return (headers.cookie ?? '')
    .split(';')
    .flatMap((pair) => cookieFormat.exec(pair.trim())?.[1] ?? []);
}

/** The cookie of a new session; with the age 0, the cookie that deletes it. */
export function sessionCookie(
  request: IncomingMessage,
  path: string,
  { id, ageMs }: { readonly id: string; readonly ageMs: number },
): string {
  const { localPort = 0 } = request.socket;
  const attributes = `HttpOnly; SameSite=Strict; Path=${path}; Max-Age=${ageMs / 1_000}`;
  return `${cookieName}${localPort}=${id}; ${attributes}${isSecure(request) ? '; Secure' : ''}`;
}

/** Whether the browser uses TLS: with this process, or with a proxy, as its `Origin` says. */
function isSecure({ headers, socket }: IncomingMessage): boolean {
  return Reflect.get(socket, 'encrypted') === true || /^https:/i.test(headers.origin ?? '');
}
