/** The tokens of sign-in links: each works once, and wrong ones can't be tried for long. */
import { randomBytes } from 'node:crypto';
import type { AdminAccess } from '../admin/http/access.ts';
import type { Clock } from '../clock.ts';
import { digestSecret } from '../secret.ts';

const tokenMs = 10 * 60_000;
const maxTokens = 100;
/**
 * Wrong tokens within `attemptsMs`. Nobody can guess 256 bits; it bounds the work of those who try.
 */
const maxAttempts = 20;
const attemptsMs = 60_000;

/** The tokens of one console. */
export interface Tokens {
  /** A new token. Where too many are unused, the oldest no longer works. */
  issue(access: AdminAccess): string;
  /** What the token was issued for, once. Undefined if it is wrong, used or too old. */
  take(token: string): AdminAccess | undefined;
  /** How long no token is looked at, in ms, after too many wrong ones; 0 if they are. */
  closedForMs(): number;
}

/** Tokens are kept as digests, for ten minutes. */
export function tokensOf(clock: Clock): Tokens {
  const tokens = new Map<string, { readonly access: AdminAccess; readonly endsMs: number }>();
  let failures: readonly number[] = [];

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
      failures = [...failures, clock.now()].slice(-maxAttempts);
      return undefined;
    },
    closedForMs: () => {
      const [first] = failures;
      if (first === undefined || failures.length < maxAttempts) return 0;
      return Math.max(0, first + attemptsMs - clock.now());
    },
  };
}

/** 256 random bits in 43 characters of base64url. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}
