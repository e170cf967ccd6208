/**
 * The audit trail: one entry for each change by an operator, whether it succeeded, failed or was
 * refused.
 */
import type { Clock } from '../../clock.ts';
import { swallowErrors } from '../../events/thrown.ts';
import type { AuditLog, AuditQuery, AuditRecord } from '../../ports/audit-log.ts';
import { within } from '../../ports/within.ts';
import { memoryAuditLog } from '../../stores/memory/audit-log.ts';
import {
  type AdminError,
  type AdminErrorCode,
  adminErrorOf,
  invalid,
  isAdminError,
} from '../admin-error.ts';
import { csvLine } from '../csv.ts';
import { pagesOf } from '../pages.ts';

/** The actions that the audit trail records: changes, and sign-ins to the console with a link. */
export type AdminAction =
  | 'key.issue'
  | 'key.batch'
  | 'key.edit'
  | 'key.rotate'
  | 'key.disable'
  | 'key.enable'
  | 'key.limit'
  | 'key.top_up'
  | 'key.remove'
  | 'owner.create'
  | 'owner.edit'
  | 'owner.limit'
  | 'owner.top_up'
  | 'owner.remove'
  | 'call.resolve'
  | 'channel.disable'
  | 'channel.enable'
  | 'channel.test'
  | 'channel.weight'
  | 'channel.priority'
  | 'channel.cost'
  | 'catalog.publish'
  | 'catalog.rollback'
  | 'model.price'
  | 'console.link'
  | 'console.sign_in'
  | 'console.sign_out';

/**
 * What was changed, without secrets; amounts are decimal strings of nanos. A member `xBefore` is
 * the value that `x` had before.
 */
export type AuditChange = Readonly<Record<string, string | number | boolean | null>>;

/** A change whose outcome is not known yet. */
export interface AuditSubject {
  /**
   * Who made the change, as named by `authorize` or by the caller of the library; `unknown` for a
   * refused sign-in.
   */
  readonly actor: string;
  /** What was done: `key.issue`, `channel.disable`. */
  readonly action: AdminAction;
  /** The id of the key, owner, batch, request or channel; undefined where there is none yet. */
  readonly target: string | undefined;
  /** The members before and after; never a secret. */
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

/** A page of the audit trail, the latest entry first. */
export interface AuditTrailPage {
  /** The entries, the latest first. */
  readonly data: readonly AuditRecord[];
  /** Pass this as `after`; undefined on the last page. */
  readonly next: string | undefined;
  /** `process`: only the latest entries of this process, in memory. */
  readonly source: 'log' | 'process';
}

/** Selects entries of the audit trail, by default 100 of them at a time. */
export type AuditTrailQuery = AuditQuery;

/** Receives audit entries. Exceptions are swallowed; returned promises are not awaited. */
export type AuditListener = (entry: AuditEntry) => void;

/** Writes and reads the audit trail. */
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
  /**
   * Writes an entry about a change that was refused before it was tried, unless there are many of
   * this actor.
   */
  refused(subject: AuditSubject, code: AdminErrorCode): Promise<void>;
  /** Whether there is an entry about the change that failed with this error. */
  hasEntryOf(error: unknown): boolean;
  /** @throws AdminError `invalid_request`, `unavailable` */
  list(query?: AuditTrailQuery): Promise<AuditTrailPage>;
  /** All selected entries as CSV, a page at a time. */
  csv(query?: Omit<AuditTrailQuery, 'limit' | 'after'>): AsyncIterable<string>;
}

/** Where entries go. */
export interface AuditTrailOptions {
  readonly onAudit?: AuditListener | undefined;
  /** Keeps them. Default: the latest 1,000 in memory. */
  readonly log?: AuditLog | undefined;
  /** Receives the errors of the log. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** How long the reply to a change waits for its entry to be written. */
const recordMs = 2_000;

export function auditTrail(
  clock: Clock,
  { onAudit, onError, log = memoryAuditLog() }: AuditTrailOptions,
): Audit {
  const write = async (
    subject: AuditSubject,
    outcome: AuditEntry['outcome'],
    code: AdminErrorCode | undefined,
  ): Promise<void> => {
    const entry: AuditEntry = { atMs: clock.now(), ...subject, outcome, code };
    if (onAudit !== undefined) swallowErrors(() => onAudit(entry));
    try {
      await within(Promise.resolve(log.record(entry)), recordMs, clock);
    } catch (error) {
      // The change was made, or refused, all the same.
      swallowErrors(() => onError?.(error));
    }
  };
  const failures = new WeakSet<AdminError>();
  const isAmongFirst = firstInMinute(clock);
  return {
    run: async (subject, change, found) => {
      checkActor(subject.actor);
      let result: Awaited<ReturnType<typeof change>>;
      try {
        result = await change();
      } catch (error) {
        const failure = adminErrorOf(error);
        await write(subject, 'failed', failure.code);
        failures.add(failure);
        throw failure;
      }
      await write({ ...subject, ...found?.(result) }, 'done', undefined);
      return result;
    },
    refused: async (subject, code) => {
      if (isAmongFirst(subject.actor)) await write(subject, 'refused', code);
    },
    hasEntryOf: (error) => isAdminError(error) && failures.has(error),
    list: (query = {}) => listed(log, query),
    csv: (query = {}) => auditCsv(log, query),
  };
}

/** Otherwise readers could fill the disk, and push changes out of a log in memory. */
const maxRefused = 30;

/** Whether an actor has had few entries about refused changes in this minute. */
function firstInMinute(clock: Clock): (actor: string) => boolean {
  let minute = Number.NaN;
  const counts = new Map<string, number>();
  return (actor) => {
    const current = Math.floor(clock.now() / 60_000);
    if (current !== minute) counts.clear();
    minute = current;
    const count = (counts.get(actor) ?? 0) + 1;
    counts.set(actor, count);
    return count <= maxRefused;
  };
}

async function listed(log: AuditLog, query: AuditTrailQuery): Promise<AuditTrailPage> {
  try {
    const { records, next } = await log.page(query);
    return { data: records, next, source: log.isInMemory === true ? 'process' : 'log' };
  } catch (error) {
    throw adminErrorOf(error);
  }
}

const csvHeading = ['time', 'actor', 'action', 'target', 'outcome', 'code', 'change'];

async function* auditCsv(log: AuditLog, query: AuditTrailQuery): AsyncIterable<string> {
  yield csvLine(csvHeading);
  for await (const { data } of pagesOf((page) => listed(log, { ...query, ...page }))) {
    yield data.map(auditLine).join('');
  }
}

function auditLine({ atMs, actor, action, target, outcome, code, change }: AuditRecord): string {
  const time = new Date(atMs).toISOString();
  return csvLine([time, actor, action, target, outcome, code, JSON.stringify(change)]);
}

/** Without an actor the entry would be useless, which nobody would notice until it is needed. */
function checkActor(actor: unknown): void {
  if (typeof actor === 'string' && actor.trim() !== '') return;
  throw invalid('actor', 'actor must name who makes the change.');
}
