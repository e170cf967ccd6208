/** The members of an audit entry, for the command and the console. */
import type { AuditRecord } from '../../ports/audit-log.ts';

type Value = AuditRecord['change'][string];

/** A member that was stated, and the value that it had before; null if that is not known. */
export interface ChangedMember {
  readonly name: string;
  readonly before: Value;
  readonly value: Value;
}

/** A member `xBefore` is the value that `x` had before. */
export function changedMembers(change: AuditRecord['change']): readonly ChangedMember[] {
  return Object.entries(change)
    .filter(([name, value]) => value !== null && value !== '' && !name.endsWith('Before'))
    .map(([name, value]) => ({ name, before: change[`${name}Before`] ?? null, value }));
}
