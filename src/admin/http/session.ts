/** The session of an operator: who is signed in, and what this host can do. */
import type { Admin } from '../admin.ts';
import type { AdminAccess } from './access.ts';

/** Who is signed in, and what the console can show and change. */
export interface AdminSession extends AdminAccess {
  readonly title: string;
  readonly nowMs: number;
  /**
   * How long another process may serve a changed key from its cache, in ms; undefined if unknown.
   */
  readonly keyCacheMs: number | undefined;
  readonly capabilities: Admin['capabilities'];
}

export function sessionOf(admin: Admin, { actor, can }: AdminAccess): AdminSession {
  const { title, clock, keyCacheMs, capabilities } = admin;
  return { actor, can, title, nowMs: clock.now(), keyCacheMs, capabilities };
}
