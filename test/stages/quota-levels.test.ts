/** What a refusal says about a quota, and the event that little of a quota is left. */
import { describe, expect, it } from 'vitest';
import type { ReserveResult } from '../../src/ports/quota-store.ts';
import { quotaLevels } from '../../src/stages/quota-levels.ts';
import { gatewayInProcess, type InProcessGateway } from '../support/gateway-in-process.ts';
import { completeReply, sampleRequests } from '../support/models.ts';

const month = '2026-01';

function quotaLow({ events }: InProcessGateway): readonly unknown[] {
  return events.filter(({ type }) => type === 'quota_low');
}

describe('a 403', () => {
  it('states what the call may cost and what is left of the key’s own quota', async () => {
    const harness = gatewayInProcess({
      key: { quota: [{ id: 'caller', period: 'total', limitNanos: 100n }] },
    });

    const { status, text } = await harness.call(sampleRequests.chat);

    expect(status).toBe(403);
    expect(text).toContain(
      "This request may cost up to 0.000000211, and 0.0000001 is left of this key's quota.",
    );
  });

  it('never says that less than nothing is left', async () => {
    const quota = [{ id: 'caller', period: 'total', limitNanos: 220n }] as const;
    const harness = gatewayInProcess({ key: { quota }, handlers: [completeReply('chat')] });
    await harness.quota.adjust({
      ...{ id: 'payment_000000001', partition: 'default', subject: 'caller', period: '' },
      addLimit: -500n,
    });

    expect((await harness.call(sampleRequests.chat)).text).toContain(', and 0 is left of this key');
  });

  it('says that it is the group’s quota, without an amount', async () => {
    const quota = [
      { id: 'caller', period: 'total', limitNanos: 1_000n },
      { id: 'team', period: 'month', limitNanos: 77n },
    ] as const;

    const { status, text } = await gatewayInProcess({ key: { quota } }).call(sampleRequests.chat);

    expect(status).toBe(403);
    expect(text).toContain("the quota of this key's group is not sufficient");
    expect(text).not.toMatch(/77|team/);
  });
});

describe('quota_low', () => {
  it('is sent once at 80 % and once at 95 % of what a subject may spend', async () => {
    const quota = [{ id: 'caller', period: 'month', limitNanos: 10_000n }] as const;
    const harness = gatewayInProcess({
      key: { quota },
      handlers: Array.from({ length: 495 }, () => completeReply('chat')),
    });
    const spend = async (calls: number): Promise<void> => {
      for (let call = 0; call < calls; call += 1) await harness.call(sampleRequests.chat);
    };
    const event = { type: 'quota_low', subject: 'caller', period: month, limitNanos: 10_000n };
    const at80 = { ...event, percent: 80, remainingNanos: 2_000n };
    const at95 = { ...event, percent: 95, remainingNanos: 500n };

    await spend(400);
    expect(quotaLow(harness)).toEqual([]);
    await spend(75);
    expect(quotaLow(harness)).toEqual([at80]);
    await spend(20);
    expect(quotaLow(harness)).toEqual([at80, at95]);
  });

  it('is sent for a call that is refused, too', async () => {
    const harness = gatewayInProcess({
      key: { quota: [{ id: 'caller', period: 'month', limitNanos: 300n }] },
      handlers: Array.from({ length: 13 }, () => completeReply('chat')),
    });
    await harness.quota.adjust({
      ...{ id: 'correction_000001', partition: 'default', subject: 'caller', period: month },
      addLimit: -290n,
    });

    expect((await harness.call(sampleRequests.chat)).status).toBe(403);

    expect(quotaLow(harness)).toMatchObject([{ percent: 95, remainingNanos: 10n }]);
  });

  it('is decided by what is left before a call, for each subject and period', () => {
    const events: unknown[] = [];
    const levels = quotaLevels((event) => events.push(event));
    const line = (subject: string, period: string, limit?: bigint) => ({
      ...{ subject, period, amount: 10n },
      ...(limit === undefined ? {} : { limit }),
    });
    const remaining = (nanos: bigint, subject = 'a', period = month): void =>
      levels([line(subject, period, 1_000n)], held(nanos - 10n));

    remaining(201n);
    remaining(200n);
    remaining(199n);
    remaining(51n);
    remaining(50n);
    remaining(-5n);
    remaining(40n, 'b');
    remaining(150n, 'a', '2026-02');
    remaining(200n, 'b');
    levels([line('c', month), line('d', month, 0n)], held(-10n, -10n));

    expect(events).toEqual([
      quotaEvent('a', month, 80, 200n),
      quotaEvent('a', month, 95, 50n),
      quotaEvent('b', month, 95, 40n),
      quotaEvent('a', '2026-02', 80, 150n),
    ]);
  });

  it('forgets the oldest of ten thousand subjects', () => {
    let events = 0;
    const levels = quotaLevels(() => {
      events += 1;
    });
    const note = (subject: string): void =>
      levels([{ subject, period: '', amount: 0n, limit: 100n }], held(1n));
    for (let subject = 0; subject <= 10_000; subject += 1) note(`s${subject}`);
    note('s10000');
    expect(events).toBe(10_001);

    note('s0');

    expect(events).toBe(10_002);
  });
});

function held(...available: readonly bigint[]): ReserveResult {
  return { status: 'held', replay: false, expiresAtMs: 0, available };
}

function quotaEvent(
  subject: string,
  period: string,
  percent: number,
  remainingNanos: bigint,
): object {
  return { type: 'quota_low', subject, period, percent, limitNanos: 1_000n, remainingNanos };
}
