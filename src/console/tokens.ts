/** The tokens of sign-in links: each works once, and wrong ones are counted. */
import { randomBytes } from 'node:crypto';
import type { AdminAccess } from '../admin/http/access.ts';
import type { Clock } from '../clock.ts';
import { digestSecret } from '../secret.ts';

const tokenMs = 10 * 60_000;
const maxTokens = 100;
/**
 * How many wrong tokens within `attemptsMs` are reported one by one. A right token works however
 * many wrong ones came: nobody can guess 256 bits, and otherwise anybody could lock the operator
 * out.
 */
const maxAttempts = 20;
const attemptsMs = 60_000;

export interface Tokens {
  /** Issues a token. If too many are unused, the oldest no longer works. */
  issue(access: AdminAccess): string;
  /** Uses up a token, and returns its access; undefined if it is wrong, used or too old. */
  take(token: string): AdminAccess | undefined;
  /** For how long there have been too many wrong ones, in ms; 0 if there have not. */
  tooManyForMs(): number;
}

/** Tokens are kept as digests, for ten minutes. */
export function tokensOf(clock: Clock): Tokens {
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

export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}
