// suite: slow
/** The usage log in memory answers queries as those in a database do. */
import { describe, expect, it } from 'vitest';
import { memoryUsageSink } from '../../../src/stores/memory/usage-sink.ts';
import { recordedRefusals, usageRecord } from '../../../src/testing/index.ts';
import { refusalCases } from '../refusal-cases.ts';
import { usageQueryCases } from '../usage-cases.ts';

usageQueryCases(() => memoryUsageSink());
refusalCases(() => memoryUsageSink());

describe('a full log', () => {
  it('still has the pages of what it keeps', () => {
    const log = memoryUsageSink({ limit: 3 });
    for (let call = 0; call < 5; call += 1) log.record(usageRecord({ requestId: `r${call}` }));

    const first = log.usageRecords({}, { limit: 2, newestFirst: true });
    log.record(usageRecord({ requestId: 'r5' }));
    const second = log.usageRecords({}, { newestFirst: true, after: first.next ?? '' });

    expect(first.records.map(({ requestId }) => requestId)).toEqual(['r4', 'r3']);
    expect(second.records).toEqual([]);
  });

  it('keeps the latest counts of refusals', () => {
    const log = memoryUsageSink({ limit: 2 });
    for (let minute = 0; minute < 5; minute += 1) {
      log.recordRefusals([recordedRefusals({ id: `a_minute_of_many.${minute}` })]);
    }

    expect(log.refusals.map(({ id }) => id)).toEqual(['a_minute_of_many.3', 'a_minute_of_many.4']);
  });

  it('sums up charges by subject and period', () => {
    const log = memoryUsageSink();
    const lines = [
      { subject: 'ada', period: '', heldNanos: 9n },
      { subject: 'team', period: '2026-11', heldNanos: 0n },
    ];
    log.record(usageRecord({ requestId: 'a', lines, chargeNanos: 4n }));
    log.record(usageRecord({ requestId: 'b', lines, chargeNanos: 5n, booked: false }));

    expect(log.usageCharges({ subject: 'ada', period: '' })).toMatchObject([
      { subject: 'ada', bookedNanos: 4n, unbookedNanos: 5n },
    ]);
    expect(log.usageCharges({ subject: 'team' })).toEqual([]);
  });
});
