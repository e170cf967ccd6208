// suite: slow host
/** The figures of a day and a month, keys that are nearly out, and what else needs a person. */
import { describe, expect, it } from 'vitest';
import type { Admin, Now } from '../../src/admin/index.ts';
import { errorCodes } from '../../src/errors.ts';
import { defaultPartition } from '../../src/ports/limits/quota-input.ts';
import type { QuotaStore } from '../../src/ports/limits/quota-store.ts';
import type { GatewayStatus } from '../../src/stages/status.ts';
import { memoryKeyStore } from '../../src/stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { memoryUsageSink } from '../../src/stores/memory/usage-sink.ts';
import { usageRecord } from '../../src/testing/contracts/usage-sink.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { recordedRefusals } from '../../src/testing/index.ts';
import { drawn } from '../support/seeds.ts';
import { type AdminSetup, adminSetup, refusedEvent } from './admin-host.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The admin library over a usage log in memory, and how often the log was queried. */
function withLog() {
  const log = memoryUsageSink({ limit: 10_000 });
  const questions = { reports: 0, isDown: false };
  const usage = {
    ...log,
    usageReport: (query: Parameters<typeof log.usageReport>[0]) => {
      questions.reports += 1;
      if (questions.isDown) throw new Error('down');
      return log.usageReport(query);
    },
  };
  return { ...adminSetup({ usage }), log, questions };
}

function total(now: Now, series: 'complete' | 'refused' | 'failed' | 'left'): number {
  return now.buckets.reduce((sum, bucket) => sum + (bucket[series] ?? Number.NaN), 0);
}

describe('a day and a month', () => {
  it('are the sums of the log', async () => {
    const { admin, log, clock } = withLog();
    const nowMs = clock.now();
    for (let call = 0; call < 200; call += 1) {
      const startedAtMs = nowMs - call * 4 * hourMs;
      const outcome = (['complete', 'broken', 'caller_left', 'not_run'] as const)[call % 4];
      const ids = { requestId: `r${call}`, startedAtMs, chargeNanos: 3n };
      log.record(usageRecord({ ...ids, outcome: outcome ?? 'complete', firstByteMs: 400 }));
    }

    for (const [range, bucketMs, count] of [
      ['24h', hourMs, 24],
      ['30d', dayMs, 30],
    ] as const) {
      const now = await admin.now(range);
      const fromMs = Math.floor(nowMs / bucketMs) * bucketMs - (count - 1) * bucketMs;
      const shown = log.records.filter(({ startedAtMs }) => startedAtMs >= fromMs);
      const are = (outcome: string) => shown.filter((record) => record.outcome === outcome).length;

      expect(now).toMatchObject({ range, source: 'log', bucketMs });
      expect(now.buckets.map(({ startMs }) => startMs)).toEqual(
        Array.from({ length: count }, (_, index) => fromMs + index * bucketMs),
      );
      expect(total(now, 'complete')).toBe(are('complete'));
      expect(total(now, 'failed')).toBe(are('broken') + are('not_run'));
      expect(total(now, 'left')).toBe(are('caller_left'));
      expect(total(now, 'refused')).toBeNaN();
      expect(now.buckets.reduce((sum, { chargeNanos }) => sum + chargeNanos, 0n)).toBe(
        BigInt(3 * shown.length),
      );
      expect(now.firstByteP50Ms).toBeGreaterThan(300);
      expect(now.firstByteP95Ms).toBeLessThanOrEqual(500);
    }
  });

  it('have the recorded refusals, and their sum is that of the reasons', async () => {
    const { admin, log, clock, emit } = withLog();
    const draw = drawn(7);
    const nowMs = clock.now();
    const counts = Array.from({ length: 300 }, (_, index) =>
      recordedRefusals({
        id: `r.${index}`,
        atMs: Math.floor((nowMs - draw(40 * 24) * hourMs) / 60_000) * 60_000,
        code: errorCodes[draw(errorCodes.length)] ?? 'invalid_key',
        reason: draw(2) === 0 ? undefined : 'rate',
        refusals: 1 + draw(9),
      }),
    );
    log.recordRefusals(counts);
    // One of this process alone: the log has it a minute later.
    emit(refusedEvent('ada', 'insufficient_quota'));

    for (const range of ['24h', '30d'] as const) {
      const now = await admin.now(range);
      const fromMs = now.buckets[0]?.startMs ?? 0;
      const shown = counts.filter(({ atMs }) => atMs >= fromMs);
      const sum = shown.reduce((all, { refusals }) => all + refusals, 0);

      expect(sum).toBeGreaterThan(0);
      expect(total(now, 'refused')).toBe(sum);
      expect(now.refusals.reduce((all, { count }) => all + count, 0)).toBe(sum);
      for (const { code, reason, count, meaning } of now.refusals) {
        const same = shown.filter((one) => one.code === code && one.reason === reason);
        expect(count).toBe(same.reduce((all, { refusals }) => all + refusals, 0));
        expect(meaning).toBeTypeOf('string');
      }
    }
  });

  it('have no number of refusals where the log has none, and those of this process', async () => {
    const { admin, emit } = withLog();
    emit(refusedEvent('ada', 'insufficient_quota'));

    const now = await admin.now('24h');

    expect(new Set(now.buckets.map(({ refused }) => refused))).toEqual(new Set([undefined]));
    expect(now.refusals).toMatchObject([{ code: 'insufficient_quota', count: 1 }]);
  });

  it('query the log only for what may have changed, at most every 10 s', async () => {
    const { admin, questions, clock } = withLog();
    await admin.now('30d');
    expect(questions.reports).toBe(30);

    for (let page = 0; page < 20; page += 1) await admin.now('30d');
    expect(questions.reports).toBe(30);
    clock.advance(10_000);
    await Promise.all([admin.now('30d'), admin.now('30d'), admin.now('1h')]);

    // Thirty days, today, yesterday in the first hour of a day, and the same hour a day before.
    expect(questions.reports).toBeLessThanOrEqual(33);
  });

  it('are the last hour of this process where the log fails', async () => {
    const { admin, questions, clock } = withLog();
    questions.isDown = true;

    const now = await admin.now('30d');
    expect(now).toMatchObject({ range: '30d', source: 'process', today: undefined });
    expect(now.buckets).toHaveLength(60);
    expect(now.attention).toMatchObject([{ kind: 'store' }]);
    expect(questions.reports).toBeLessThanOrEqual(2);

    questions.isDown = false;
    clock.advance(10_000);
    expect(await admin.now('30d')).toMatchObject({ source: 'log', attention: [] });
  });

  it('are the last hour of this process without a log', async () => {
    const { admin } = adminSetup();

    expect(await admin.now('24h')).toMatchObject({ source: 'process', attention: [] });
  });
});

describe('calls of the log', () => {
  it('are listed newest first, page by page, and a key shows when it was last used', async () => {
    const { admin, log, clock } = withLog();
    await admin.keys.issue('ada', { id: 'ada', group: 'staff', limitNanos: 1n });
    const startMs = clock.now() - hourMs;
    for (let call = 0; call < 25; call += 1) {
      const ids = { requestId: `r${call}`, keyId: 'ada', startedAtMs: startMs + call };
      log.record(usageRecord({ ...ids, outcome: 'not_run', reason: 'upstream_rate_limited' }));
    }

    const found: string[] = [];
    let after: string | undefined;
    do {
      const page = await admin.calls.list({ limit: 10, ...(after === undefined ? {} : { after }) });
      expect(page.source).toBe('log');
      found.push(...page.data.map(({ requestId }) => requestId));
      after = page.next;
    } while (after !== undefined);

    expect(found).toEqual(Array.from({ length: 25 }, (_, index) => `r${24 - index}`));
    expect(await admin.keys.find('ada')).toMatchObject({ lastUsedMs: startMs + 24 });
    const { calls } = await admin.calls.find('r3');
    expect(calls[0]?.meaning).toContain('rate limit');
    expect(calls[0]?.remedy).toBeTypeOf('string');
  });
});

describe('keys that are nearly out', () => {
  const crowd = 350;

  async function withCrowd() {
    const clock = fakeClock();
    const quota = memoryQuotaStore({ clock });
    const reads = { count: 0 };
    const counting: QuotaStore = {
      ...quota,
      read: (...query) => {
        reads.count += 1;
        return quota.read(...query);
      },
    };
    const setup = adminSetup({ clock, quota: counting, keys: memoryKeyStore() });
    const { admin } = setup;
    const team = { id: 'team', period: 'total', limitNanos: 1_000n } as const;
    for (let index = 0; index < crowd; index += 1) {
      const id = `key-${String(index).padStart(3, '0')}`;
      const quotas = { quota: [{ id, period: 'total', limitNanos: 100n }, team] } as const;
      await admin.keys.issue('ada', { id, group: 'staff', ...quotas });
    }
    const charge = async (subject: string, amount: bigint, limit: bigint): Promise<void> => {
      const lines = [{ subject, period: '', amount, limit }];
      const hold = { id: `reservation-of-${subject}`, partition: defaultPartition };
      await quota.reserve({ ...hold, lines, ttlMs: 60_000, onExpire: 'release' });
      await quota.settle({ ...hold, lines, basis: 'usage' });
    };
    return { ...setup, clock, reads, charge };
  }

  const percents = async (admin: Admin) =>
    (await admin.now()).attention.filter(({ kind }) => kind === 'quota').map(({ text }) => text);

  it('are found by their balances in a bounded number of reads, until topped up', async () => {
    const { admin, clock, reads, charge } = await withCrowd();
    await charge('key-333', 93n, 100n);
    await charge('key-007', 89n, 100n);

    const found: string[] = [];
    for (let look = 0; look < 4; look += 1) {
      reads.count = 0;
      found.push(...(await percents(admin)));
      expect(reads.count).toBeLessThanOrEqual(250);
      clock.advance(10_000);
    }
    expect(new Set(found)).toEqual(new Set(['key-333 has used 93 % of its limit']));

    expect(await percents(admin)).toEqual(['key-333 has used 93 % of its limit']);
    await admin.keys.topUp('ada', 'key-333', { id: 'invoice', amountNanos: 100n });
    clock.advance(10_000);
    expect(await percents(admin)).toEqual([]);
  });

  it('are found at once if they were refused or called, and a shared subject once', async () => {
    const { admin, clock, charge, emit } = await withCrowd();
    await charge('team', 990n, 1_000n);
    await charge('key-340', 100n, 100n);
    await admin.now();
    emit({
      ...{ type: 'call_refused', requestId: 'r', keyId: 'key-340', group: 'staff', status: 403 },
      ...{ protocol: 'chat', modelId: 'm', code: 'insufficient_quota', reason: 'insufficient' },
    });
    clock.advance(10_000);

    expect(await percents(admin)).toEqual([
      'key-340 has used 100 % of its limit',
      'team, to which key-000 is charged, has used 99 % of its limit',
    ]);
    await admin.keys.disable('ada', 'key-340');
    clock.advance(10_000);
    expect(await percents(admin)).not.toContain('key-340 has used 100 % of its limit');
  });
});

describe('what needs a person', () => {
  function withStatus(status: (setup: AdminSetup) => Partial<GatewayStatus>) {
    const plain = adminSetup();
    const gateway = {
      ...plain.gateway,
      status: () => ({ ...plain.gateway.status(), ...status(plain) }),
    };
    return adminSetup({ gateway, clock: plain.clock });
  }

  it('is a charge that waits for the quota store, and since when', async () => {
    const { admin, clock } = withStatus(() => ({ outbox: { waiting: 2, oldestMs: 5_000 } }));

    expect((await admin.now()).attention).toEqual([
      {
        kind: 'settlement',
        detail: undefined,
        text: '2 charges wait for the quota store',
        href: '#/spend',
        sinceMs: clock.now() - 5_000,
      },
    ]);
  });

  it('is a store that was slow in the last minute, not one that was slow before', async () => {
    let slow = 0;
    let fast = 0;
    const { admin, clock } = withStatus(() => {
      const buckets = [
        { leMs: 10, count: fast },
        { leMs: 500, count: fast + slow },
      ];
      const counts = { calls: fast + slow, failures: 0, sumMs: 0, buckets };
      return { ports: [{ port: 'quota', operation: 'reserve', ...counts }] };
    });
    const texts = async () => (await admin.now()).attention.map(({ text }) => text);

    slow = 20;
    expect(await texts()).toEqual(['quota.reserve is slow: 95 % of its answers take up to 500 ms']);
    for (let minute = 0; minute < 3; minute += 1) {
      clock.advance(60_000);
      fast += 100;
      await admin.now();
    }
    expect(await texts()).toEqual([]);
  });

  it.each(['catalog', 'config'] as const)('is a %s whose newest version is refused', async (of) => {
    const { admin, emit, clock } = adminSetup();
    const source = 'models.json';
    const texts = async () => (await admin.now()).attention.map(({ text }) => text);
    emit({ type: `${of}_refused`, source, reason: 'no price' });
    const [entry] = (await admin.now()).attention;
    if (of === 'catalog') emit({ type: 'catalog_loaded', source, models: 1 });
    else emit({ type: 'config_loaded', source });

    expect(entry).toEqual({
      kind: 'host',
      text: `${source} is invalid, and its last good version is in use`,
      detail: 'no price',
      href: '#/now',
      sinceMs: clock.now(),
    });
    expect(await texts()).toEqual([]);
  });

  it('is a process that shuts down', async () => {
    const { admin } = withStatus(() => ({ isClosing: true }));

    expect((await admin.now()).sentence).toMatchObject([{ severity: 'bad' }]);
  });
});
