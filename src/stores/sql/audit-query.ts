/** The checks of a query on an audit log, which all logs share. */
import type { AuditQuery } from '../../ports/audit-log.ts';

/** @throws RangeError that names the member */
export function checkAuditQuery({ limit = 100, after, fromMs, toMs }: AuditQuery) {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > 1_000) {
    throw new RangeError('limit must be an integer from 1 to 1,000.');
  }
  if (after !== undefined && !/^\d{1,18}$/.test(after)) {
    throw new RangeError('after must be the next of an earlier page.');
  }
  for (const [name, ms] of Object.entries({ fromMs, toMs })) {
    if (ms === undefined || Number.isSafeInteger(ms)) continue;
    throw new RangeError(`${name} must be Unix milliseconds.`);
  }
  return { limit, before: after === undefined ? undefined : BigInt(after) };
}

/** Whether an action is the wanted one, or of the wanted kind: `key.limit` is of `key`. */
export function isOfAction(action: string, wanted: string): boolean {
  return action === wanted || action.startsWith(`${wanted}.`);
}
