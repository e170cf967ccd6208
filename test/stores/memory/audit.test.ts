// suite: quick
/** The audit log in memory keeps the latest records. */
import { expect, it } from 'vitest';
import { memoryAuditLog } from '../../../src/stores/memory/audit-log.ts';
import { auditLogCases } from '../audit-cases.ts';

auditLogCases(() => memoryAuditLog());

it('forgets the oldest record when it is full', () => {
  const log = memoryAuditLog(2);
  for (const actor of ['a', 'b', 'c']) {
    log.record({
      ...{ atMs: 1, actor, action: 'key.issue', target: undefined, change: {} },
      ...{ outcome: 'done', code: undefined },
    });
  }

  expect(log.page({}).records.map(({ actor }) => actor)).toEqual(['c', 'b']);
});
