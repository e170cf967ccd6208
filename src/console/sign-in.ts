/**
 * The console's own sign-in, for hosts that have none: a link that works once gives a session in a
 * cookie. Tokens and sessions are kept in memory, hashed; neither can call a model.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { AdminAccess } from '../admin/http/access.ts';
import { targetOf } from '../admin/http/target.ts';
import { type Clock, systemClock } from '../clock.ts';
import { aClock, checkMakerOptions } from '../ports/set-up.ts';
import { digestSecret } from '../secret.ts';
import { sessionIdsIn } from './cookie.ts';

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
   * @param url the address of the console: `http://127.0.0.1:8787/console`
   */
  link(url: string, access?: AdminAccess): string;
  /** Who has the session of this request; the handler asks it. */
  authorize(request: IncomingMessage): AdminAccess | undefined;
  /** The id of a new session for the token of a link; the handler calls it. */
  exchange(token: string): Exchange;
  /** Ends the session of this request; the handler calls it. */
  signOut(request: IncomingMessage): void;
}

/** What became of a token. */
export type Exchange =
  | { readonly sessionId: string }
  | { readonly refused: 'unknown' }
  | { readonly refused: 'too_many'; readonly retryAfterMs: number };

/** The longest time of a session, in ms. */
export const sessionMs: number = 12 * 3_600_000;
const idleMs = 30 * 60_000;
const tokenMs = 10 * 60_000;
const attemptsMs = 60_000;
const maxSessions = 100;
const maxTokens = 100;
/** Wrong tokens in `attemptsMs`. They can't be guessed; this bounds the work of those who try. */
const maxAttempts = 20;

interface Session {
  readonly access: AdminAccess;
  readonly sinceMs: number;
  usedMs: number;
}

interface Token {
  readonly access: AdminAccess;
  readonly endsMs: number;
}

const optionsSchema = z.strictObject(
  { clock: aClock.optional() } satisfies Record<keyof ConsoleSignInOptions, z.ZodType>,
  'must be an object',
);

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
  const tokens = new Map<string, Token>();
  const sessions = new Map<string, Session>();
  const attempts = attemptsOf(clock);

  const live = (digest: string): Session | undefined => {
    const session = sessions.get(digest);
    if (session === undefined) return undefined;
    const nowMs = clock.now();
    if (nowMs - session.usedMs < idleMs && nowMs - session.sinceMs < sessionMs) return session;
    sessions.delete(digest);
    return undefined;
  };

  return {
    link: (url, access = { actor: 'console', can: 'manage' }) => {
      const token = newSecret();
      remember(tokens, maxTokens, token, { access, endsMs: clock.now() + tokenMs });
      return `${url.replace(/\/+$/, '')}/sign-in#token=${token}`;
    },
    authorize: (request) => {
      const session = sessionIdsIn(request)
        .map((id) => live(digestSecret(id)))
        .find((found) => found !== undefined);
      // A stream that is still open says nothing about the person before the screen.
      if (session !== undefined && !targetOf(request).path.endsWith('/api/events')) {
        session.usedMs = clock.now();
      }
      return session?.access;
    },
    exchange: (token) => {
      const retryAfterMs = attempts.closedForMs();
      if (retryAfterMs > 0) return { refused: 'too_many', retryAfterMs };
      const digest = digestSecret(token);
      const found = tokens.get(digest);
      tokens.delete(digest);
      if (found === undefined || clock.now() >= found.endsMs) {
        attempts.failed();
        return { refused: 'unknown' };
      }
      const sessionId = newSecret();
      const nowMs = clock.now();
      const { access } = found;
      remember(sessions, maxSessions, sessionId, { access, sinceMs: nowMs, usedMs: nowMs });
      return { sessionId };
    },
    signOut: (request) => {
      for (const id of sessionIdsIn(request)) sessions.delete(digestSecret(id));
    },
  };
}

/** 256 random bits in 43 characters of base64url. */
function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Keeps a value under the digest of its secret; where there is no room, the oldest goes. */
function remember<T>(map: Map<string, T>, limit: number, secret: string, value: T): void {
  map.set(digestSecret(secret), value);
  const [oldest] = map.keys();
  if (map.size > limit && oldest !== undefined) map.delete(oldest);
}

interface Attempts {
  failed(): void;
  /** How long no token is looked at, in ms; 0 if they are. */
  closedForMs(): number;
}

function attemptsOf(clock: Clock): Attempts {
  let failures: readonly number[] = [];
  return {
    failed: () => {
      failures = [...failures, clock.now()].slice(-maxAttempts);
    },
    closedForMs: () => {
      const [first] = failures;
      if (first === undefined || failures.length < maxAttempts) return 0;
      return Math.max(0, first + attemptsMs - clock.now());
    },
  };
}
