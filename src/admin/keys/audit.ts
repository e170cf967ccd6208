/** What the audit trail has of a change of a key or an owner: what was requested or changed. */
import type { IssueKeyOptions } from '../../issue-key.ts';
import { jsonWithBigints } from '../../json.ts';
import type { ApiKey } from '../../ports/keys/key-store.ts';
import type { AuditChange } from '../audit/audit.ts';

export function issueChange(options: Partial<IssueKeyOptions> | undefined): AuditChange {
  const { group, limitNanos, period } = options ?? {};
  return {
    group: typeof group === 'string' ? group : null,
    limitNanos: typeof limitNanos === 'bigint' ? String(limitNanos) : null,
    period: typeof period === 'string' ? period : null,
  };
}

/** The rights and the subjects of the new key: a subject may belong to another key or a group. */
export function issuedChange({
  group,
  quota,
  expiresAtMs,
  maxConcurrentCalls,
}: ApiKey): AuditChange {
  const subjects = quota.map(
    ({ id, period, limitNanos }) => `${id} ${period} ${limitNanos ?? '(limit in the quota store)'}`,
  );
  return {
    group,
    quota: subjects.join(', '),
    expiresAtMs: expiresAtMs ?? null,
    maxConcurrentCalls: maxConcurrentCalls ?? null,
  };
}

/** The values that an edit sets; null removes one. */
export function requestedChange(edit: object): AuditChange {
  return Object.fromEntries(
    Object.entries(edit).map(([name, value]) => [name, value === null ? null : textOf(value)]),
  );
}

/** The value of each edited member before and after. */
export function madeChange(before: object, edit: object): AuditChange {
  return Object.fromEntries(
    Object.entries(edit).map(([name, value]) => {
      const old: unknown = Reflect.get(before, name);
      return [name, `${textOf(old ?? null)} → ${textOf(value)}`];
    }),
  );
}

const maxTextLength = 500;

/** Metadata and lists may be long; an entry need not repeat them to their end. */
function textOf(value: unknown): string {
  const text = typeof value === 'bigint' ? String(value) : jsonWithBigints(value);
  return text.length > maxTextLength ? `${text.slice(0, maxTextLength)}…` : text;
}
