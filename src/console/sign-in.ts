/**
 * The console's own sign-in, for hosts that have none: a link that works once gives a session in a
 * cookie. Tokens and sessions are kept in memory, hashed. Neither can be used as an API key.
 */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { AdminAccess } from '../admin/http/access.ts';
import { targetOf } from '../admin/http/target.ts';
import { type Clock, systemClock } from '../clock.ts';
import { ConfigurationError } from '../errors.ts';
import { aClock, checkMakerOptions, strict, text } from '../ports/set-up.ts';
import { sessionIdsIn } from './cookie.ts';
import { sessionsOf } from './sessions.ts';
import { tokensOf } from './tokens.ts';

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
