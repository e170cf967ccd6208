/**
 * The audit trail: one entry for each change by an operator, whether it succeeded, failed or was
 * refused.
 */
import type { Clock } from '../clock.ts';
import { swallowErrors } from '../thrown.ts';
import {
  type AdminError,
  type AdminErrorCode,
  adminErrorOf,
  invalid,
  isAdminError,
} from './admin-error.ts';

/** The actions that the audit trail records: changes, and sign-ins to the console with a link. */
export type AdminAction =
  | 'key.issue'
  | 'key.rotate'
  | 'key.disable'
  | 'key.enable'
  | 'key.limit'
  | 'key.top_up'
  | 'key.remove'
  | 'call.resolve'
  | 'channel.disable'
  | 'channel.enable'
  | 'channel.test'
  | 'channel.weight'
  | 'channel.priority'
  | 'channel.cost'
  | 'catalog.publish'
  | 'console.sign_in'
  | 'console.sign_out';

/** What was changed, without secrets; amounts are decimal strings of nanos. */
export type AuditChange = Readonly<Record<string, string | number | boolean | null>>;

/** A change whose outcome is not known yet. */
export interface AuditSubject {
  /**
   * Who made the change, as named by `authorize` or by the caller of the library; `unknown` for a
   * refused sign-in.
   */
  readonly actor: string;
  readonly action: AdminAction;
  /** The id of the key, the request or the channel; undefined where there is none yet. */
  readonly target: string | undefined;
  readonly change: AuditChange;
}

/** One entry of the audit trail; it survives `JSON.stringify` and holds no secret. */
export interface AuditEntry extends AuditSubject {
  /** Unix ms. */
  readonly atMs: number;
  /**
   * `refused`: it was not tried, because the actor may only read, or the request broke a rule.
   * `failed`: it was tried; if `code` is `unavailable`, it may have taken effect.
   */
  readonly outcome: 'done' | 'failed' | 'refused';
  /** Why it failed or was refused. */
  readonly code: AdminErrorCode | undefined;
}

/** Receives audit entries. Exceptions are swallowed; returned promises are not awaited. */
export type AuditListener = (entry: AuditEntry) => void;

/** Writes the audit trail. */
export interface Audit {
  /**
   * Runs a change, and writes an entry whether it succeeds or fails. `found` adds what only the
   * result shows, such as the id of a new key.
   */
  run<T>(
    subject: AuditSubject,
    change: () => Promise<T>,
    found?: (result: T) => Partial<Pick<AuditSubject, 'target' | 'change'>>,
  ): Promise<T>;
  /** Writes an entry about a change that was refused before it was tried. */
  refused(subject: AuditSubject, code: AdminErrorCode): void;
  /** Whether there is an entry about the change that failed with this error. */
  hasEntryOf(error: unknown): boolean;
}

export function auditTrail(clock: Clock, onAudit: AuditListener | undefined): Audit {
  const write = (
    subject: AuditSubject,
    outcome: AuditEntry['outcome'],
    code: AdminErrorCode | undefined,
  ): void => {
    if (onAudit === undefined) return;
    const entry: AuditEntry = { atMs: clock.now(), ...subject, outcome, code };
    swallowErrors(() => onAudit(entry));
  };
  const failures = new WeakSet<AdminError>();
  return {
    run: async (subject, change, found) => {
      checkActor(subject.actor);
      try {
        const result = await change();
        write({ ...subject, ...found?.(result) }, 'done', undefined);
        return result;
      } catch (error) {
        const failure = adminErrorOf(error);
        write(subject, 'failed', failure.code);
        failures.add(failure);
        throw failure;
      }
    },
    refused: (subject, code) => write(subject, 'refused', code),
    hasEntryOf: (error) => isAdminError(error) && failures.has(error),
  };
}

/** Without an actor the entry would be useless, which nobody would notice until it is needed. */
function checkActor(actor: unknown): void {
  if (typeof actor === 'string' && actor.trim() !== '') return;
  throw invalid('actor', 'actor must name who makes the change.');
}
