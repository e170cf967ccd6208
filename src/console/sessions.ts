/** The sessions of operators in this process, by the digests of their ids. */
import type { AdminAccess } from '../admin/http/access.ts';
import type { Clock } from '../clock.ts';
import { digestSecret } from '../secret.ts';
import { newSecret } from './tokens.ts';

export const sessionMs: number = 12 * 3_600_000;
const idleMs = 30 * 60_000;
const maxSessions = 100;

export interface Sessions {
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
export function sessionsOf(clock: Clock): Sessions {
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
