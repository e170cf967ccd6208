// suite: slow host
/**
 * What a process remembers of refused requests, over random sequences of keys, codes and reasons:
 * nobody's latest refusal is forgotten for another one's noise, and every number is a true sum.
 */
import { describe, expect, it } from 'vitest';
import { kindsOfKey, maxSeenRefusals } from '../../../src/admin/calls/refusal-counts.ts';
import type { SeenRefusal } from '../../../src/admin/calls/summary.ts';
import { given } from '../../../src/admin/deps.ts';
import { liveFigures } from '../../../src/admin/now/live.ts';
import type { ErrorCode } from '../../../src/errors.ts';
import type { FailureReason } from '../../../src/failure-reasons.ts';
import { memoryUsageSink } from '../../../src/stores/memory/usage-sink.ts';
import { usageRecord } from '../../../src/testing/contracts/usage-sink.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { recordedRefusals } from '../../../src/testing/index.ts';
import { type Draw, drawn } from '../../support/seeds.ts';
import { adminSetup, refusedEvent } from '../admin-host.ts';

const codes: readonly ErrorCode[] = ['insufficient_quota', 'rate_limited', 'invalid_request'];
const reasons: readonly (FailureReason | undefined)[] = [undefined, 'rate', 'too_deep'];

interface Refused {
  readonly keyId: string | undefined;
  readonly code: ErrorCode;
  readonly reason: FailureReason | undefined;
  readonly requestId: string;
}

/** Most are of one noisy key; the others are drawn evenly. */
function sequence(draw: Draw, keys: number, length: number): readonly Refused[] {
  return Array.from({ length }, (_, index) => {
    const isNoise = draw(10) > 0;
    const key = draw(keys);
    return {
      keyId: isNoise ? 'noisy' : key === 0 ? undefined : `key-${key}`,
      code: isNoise ? 'rate_limited' : (codes[draw(codes.length)] ?? 'invalid_request'),
      reason: isNoise ? 'rate' : reasons[draw(reasons.length)],
      requestId: `r${index}`,
    };
  });
}

function nameOf({ keyId, code, reason }: Pick<SeenRefusal, 'keyId' | 'code' | 'reason'>): string {
  return JSON.stringify([keyId ?? null, code, reason ?? null]);
}

/** The last of each name in a sequence. */
function lastBy(all: readonly Refused[], name: (one: Refused) => string): Map<string, string> {
  return new Map(all.map((one) => [name(one), one.requestId]));
}

describe('the refusals that a process remembers', () => {
  it.each([1, 2, 3, 4, 5, 6])('are the latest of each key, code and reason, seed %d', (seed) => {
    const draw = drawn(seed);
    const clock = fakeClock();
    const live = liveFigures(clock);
    const all = sequence(draw, 1 + draw(40), 1_500);
    for (const { keyId, code, ...change } of all) {
      live.add(refusedEvent(keyId, code, change));
      clock.advance(draw(3));
    }

    const seen = live.recentRefusals();
    expect(seen).toHaveLength(maxSeenRefusals);
    expect(seen.map(({ atMs }) => atMs)).toEqual(
      seen.map(({ atMs }) => atMs).toSorted((one, other) => other - one),
    );
    const remembered = new Set(seen.map(({ requestId }) => requestId));
    for (const [name, requestId] of lastBy(all, nameOf)) {
      expect(remembered.has(requestId), name).toBe(true);
    }
    for (const keyId of new Set(all.map((one) => one.keyId))) {
      for (const { count, latest } of kindsOfKey(live.state.refusals, keyId ?? '')) {
        const [one] = latest;
        const same = all.filter((other) => one !== undefined && nameOf(other) === nameOf(one));
        expect(count).toBe(same.length);
      }
    }
    const { refused } = live
      .minutes(60)
      .reduce((sum, minute) => ({ refused: sum.refused + (minute.refused ?? Number.NaN) }), {
        refused: 0,
      });
    expect(refused).toBe(all.length);
    expect(live.refusals().reduce((sum, { count }) => sum + count, 0)).toBe(all.length);
  });

  it.each([1, 2, 3])('keep a share for each code, if there are too many keys, seed %d', (seed) => {
    const draw = drawn(seed);
    const clock = fakeClock();
    const live = liveFigures(clock);
    const last = new Map<string, string>();
    const refuse = (keyId: string, code: ErrorCode, requestId: string): void => {
      live.add(refusedEvent(keyId, code, { requestId }));
      clock.advance(1);
      last.set(code, requestId);
    };
    for (const [index, code] of codes.entries()) refuse(`poor-${index}`, code, `first-${code}`);
    for (let index = 0; index < 3_000; index += 1) {
      refuse(`crowd-${draw(2_000)}`, 'store_unavailable', `c${index}`);
    }

    const remembered = new Set(live.recentRefusals().map(({ requestId }) => requestId));
    expect(remembered.size).toBe(maxSeenRefusals);
    for (const requestId of last.values()) expect(remembered.has(requestId)).toBe(true);
  });
});

describe('a list of calls', () => {
  it('has refused requests among the others, and alone by outcome, code and key', async () => {
    const { admin, emit, clock } = adminSetup();
    const all = sequence(drawn(9), 5, 150);
    for (const { keyId, code, ...change } of all) {
      emit(refusedEvent(keyId, code, change));
      clock.advance(1);
    }
    const idsOf = async (query: Parameters<typeof admin.calls.list>[0]) => {
      const found: string[] = [];
      let after: string | undefined;
      do {
        const page = await admin.calls.list({ limit: 40, ...query, ...(after && { after }) });
        expect(page.data.length).toBeLessThanOrEqual(40);
        found.push(...page.data.map(({ requestId }) => requestId));
        after = page.next;
      } while (after !== undefined);
      return found;
    };
    const ids = (fits: (one: Refused) => boolean) =>
      all
        .filter(fits)
        .map(({ requestId }) => requestId)
        .toReversed();

    expect(await idsOf({})).toEqual(ids(() => true));
    expect(await idsOf({ outcome: 'refused' })).toEqual(ids(() => true));
    expect(await idsOf({ outcome: 'complete' })).toEqual([]);
    expect(await idsOf({ channelId: 'any' })).toEqual([]);
    expect(await idsOf({ keyId: 'key-2', code: 'rate_limited' })).toEqual(
      ids(({ keyId, code }) => keyId === 'key-2' && code === 'rate_limited'),
    );
  });

  it.each([
    1, 2, 3,
  ])('that comes from the log has each entry once, in order, seed %d', async (seed) => {
    const draw = drawn(seed);
    const log = memoryUsageSink({ limit: 1_000 });
    const { admin, emit, clock } = adminSetup({ usage: log });
    const all: string[] = [];
    for (let index = 0; index < 500; index += 1) {
      clock.advance(draw(3));
      // More calls than a window has, with refusals between and on both sides of its edges.
      const isCall = draw(3) > 0;
      const requestId = `${clock.now()} ${index}`;
      all.unshift(requestId);
      if (isCall)
        log.record(
          usageRecord({ requestId, reservationId: `hold-${index}`, startedAtMs: clock.now() }),
        );
      else emit(refusedEvent(`key-${draw(9)}`, 'rate_limited', { requestId }));
    }

    const found: string[] = [];
    let next: string | undefined;
    do {
      const after = next === undefined ? {} : { after: next };
      const page = await admin.calls.list({ limit: 1 + draw(20), ...after });
      expect(page.source).toBe('log');
      found.push(...page.data.map(({ requestId }) => requestId));
      next = page.next;
    } while (next !== undefined);

    const timesOf = (ids: readonly string[]) => ids.map((id) => id.split(' ')[0]);
    expect(timesOf(found)).toEqual(timesOf(all));
    expect(new Set(found)).toEqual(new Set(all));
  });

  it('is continued only with the cursor of an earlier page', async () => {
    const { admin } = adminSetup({ usage: memoryUsageSink({ limit: 10 }) });

    for (const after of ['x', '0', '-1 0 ', '0 1 x']) {
      await expect(admin.calls.list({ after }), after).rejects.toThrow(/after must be/);
    }
  });
});

/** A value of the list, or nothing: then there is no such filter. */
function perhaps<T>(draw: Draw, values: readonly T[]): T | undefined {
  return draw(2) === 0 ? undefined : values[draw(values.length)];
}

describe('refused requests of any time', () => {
  const models = ['m1', 'm2'] as const;
  const groups = ['g1', 'g2'] as const;
  const dayMs = 86_400_000;

  it.each([1, 2, 3, 4])('are summed by every combination of filters, seed %d', async (seed) => {
    const draw = drawn(seed);
    const log = memoryUsageSink({ limit: 1_000 });
    const { admin, clock } = adminSetup({ usage: log });
    const nowMs = clock.now();
    const counts = Array.from({ length: 200 }, (_, index) =>
      recordedRefusals({
        id: `c.${index}`,
        atMs: Math.floor((nowMs - draw(30 * 24) * 3_600_000) / 60_000) * 60_000,
        keyId: `key-${draw(3)}`,
        modelId: models[draw(2)],
        group: groups[draw(2)],
        code: codes[draw(codes.length)] ?? 'rate_limited',
        reason: undefined,
        refusals: 1 + draw(12),
      }),
    );
    log.recordRefusals(counts);
    let found = 0;

    for (let query = 0; query < 60; query += 1) {
      const keyId = perhaps(draw, ['key-0', 'key-1', 'key-2']);
      const modelId = perhaps(draw, models);
      const group = perhaps(draw, groups);
      const code = perhaps(draw, codes);
      const fromMs = Math.floor((nowMs - draw(31) * dayMs) / 60_000) * 60_000;
      const toMs = perhaps(draw, [fromMs + dayMs, fromMs + 9 * dayMs]);
      const isUntilNow = toMs === undefined || toMs > nowMs - 60_000;
      const selected = counts.filter(
        (one) =>
          one.keyId === (keyId ?? one.keyId) &&
          one.modelId === (modelId ?? one.modelId) &&
          one.group === (group ?? one.group) &&
          one.code === (code ?? one.code) &&
          one.atMs >= fromMs &&
          (isUntilNow || one.atMs < toMs),
      );
      const names = given({ keyId, modelId, group, code, toMs });

      const reasons = await admin.refusals.reasons({ ...names, fromMs });

      for (const one of codes) {
        const sum = selected
          .filter((count) => count.code === one)
          .reduce((all, { refusals }) => all + refusals, 0);
        expect(reasons.find((reason) => reason.code === one)?.count ?? 0).toBe(sum);
        found += sum;
      }
      for (const { source, remedy, code: of } of reasons) {
        expect(source).toBe('log');
        if (of === 'insufficient_quota') expect(remedy).toContain('top up');
      }
    }
    expect(found).toBeGreaterThan(0);
  });

  it.each([1, 2, 3, 4])('are listed by every combination of filters, seed %d', async (seed) => {
    const draw = drawn(seed);
    const log = memoryUsageSink({ limit: 1_000 });
    const { admin, emit, clock } = adminSetup({ usage: log });
    const startMs = clock.now();
    interface Entry {
      readonly requestId: string;
      readonly atMs: number;
      readonly keyId: string;
      readonly modelId: string;
      readonly group: string;
      readonly channelId?: string;
      readonly user?: string;
      readonly code?: ErrorCode;
      readonly outcome: 'refused' | 'complete' | 'broken';
    }
    const all: Entry[] = [];
    for (let index = 0; index < 100; index += 1) {
      clock.advance(60_000 * draw(3));
      const names = {
        ...{ requestId: `r${index}`, keyId: `key-${draw(3)}` },
        ...{ modelId: models[draw(2)] ?? 'm1', group: groups[draw(2)] ?? 'g1' },
      };
      const atMs = clock.now();
      if (draw(2) === 0) {
        const code = codes[draw(codes.length)] ?? 'rate_limited';
        const { keyId, ...ids } = names;
        emit(refusedEvent(keyId, code, ids));
        all.push({ ...names, atMs, code, outcome: 'refused' });
        continue;
      }
      const channelId = `c${draw(2)}`;
      const user = `user-${draw(3)}`;
      const outcome = draw(3) === 0 ? 'broken' : 'complete';
      const ids = { ...names, reservationId: `h${index}`, startedAtMs: atMs };
      log.record(usageRecord({ ...ids, channelId, outcome, metadata: { user } }));
      all.push({ ...names, atMs, channelId, user, outcome });
    }
    let found = 0;

    for (let query = 0; query < 80; query += 1) {
      const keyId = perhaps(draw, ['key-0', 'key-1', 'key-2']);
      const modelId = perhaps(draw, models);
      const group = perhaps(draw, groups);
      const channelId = draw(4) === 0 ? 'c1' : undefined;
      const user = draw(4) === 0 ? 'user-1' : undefined;
      const code = draw(4) === 0 ? codes[draw(codes.length)] : undefined;
      const outcome = perhaps(draw, ['refused', 'complete', 'broken'] as const);
      const fromMs = startMs + draw(100) * 60_000;
      const toMs = perhaps(draw, [fromMs + 3_600_000]);
      const fits = all.filter(
        (one) =>
          one.keyId === (keyId ?? one.keyId) &&
          one.modelId === (modelId ?? one.modelId) &&
          one.group === (group ?? one.group) &&
          one.channelId === (channelId ?? one.channelId) &&
          one.user === (user ?? one.user) &&
          one.code === (code ?? one.code) &&
          one.outcome === (outcome ?? one.outcome) &&
          one.atMs >= fromMs &&
          one.atMs < (toMs ?? Number.MAX_SAFE_INTEGER),
      );
      const metadata = user === undefined ? undefined : { name: 'user', value: user };
      const names = given({ keyId, modelId, group, channelId, metadata, code, outcome, toMs });

      const { data } = await admin.calls.list({ ...names, fromMs });

      const ids = data.map(({ requestId }) => requestId);
      expect(ids.toSorted()).toEqual(fits.map(({ requestId }) => requestId).toSorted());
      found += ids.length;
    }
    expect(found).toBeGreaterThan(0);
  });
});

describe('the reasons of refusals', () => {
  it.each([1, 2, 3, 4])('have what the latest request named, seed %d', async (seed) => {
    const draw = drawn(seed);
    const { admin, emit } = adminSetup();
    const last = new Map<string, string | undefined>();
    const named = [
      [{ param: 'messages[1]' }, 'messages[1]'],
      [{ path: '/v1/files' }, '/v1/files'],
      [{ param: 'model', requestedModel: 'gpt-9' }, 'gpt-9'],
      [{ param: 'model' }, 'model'],
      [{ requestedModel: 'gpt-5' }, undefined],
      [{}, undefined],
    ] as const;
    for (let request = 0; request < 60; request += 1) {
      const code = codes[draw(codes.length)] ?? 'invalid_request';
      const keyId = `key-${draw(3)}`;
      const [names, detail] = named[draw(named.length)] ?? named[0];
      emit(refusedEvent(keyId, code, names));
      for (const whose of [keyId, 'all']) last.set(`${whose} ${code}`, detail);
    }

    const now = await admin.now();
    expect(now.refusals.length).toBeGreaterThan(0);
    for (const { code, detail } of now.refusals) expect(detail).toBe(last.get(`all ${code}`));
    for (const keyId of ['key-0', 'key-1', 'key-2']) {
      for (const { code, detail } of await admin.refusals.reasons({ keyId, fromMs: 0 })) {
        expect(detail).toBe(last.get(`${keyId} ${code}`));
      }
    }
  });

  it('of a key are those of the log, and the ones that only this process knows', async () => {
    const log = memoryUsageSink({ limit: 10 });
    const { admin, emit, clock } = adminSetup({ usage: log });
    const startMs = clock.now();
    log.recordRefusals([
      recordedRefusals({
        ...{ id: 'a.1', atMs: Math.floor(startMs / 60_000) * 60_000, keyId: 'ada' },
        ...{ code: 'insufficient_quota', reason: 'insufficient', refusals: 12 },
      }),
    ]);
    emit(refusedEvent('ada', 'insufficient_quota', { reason: 'insufficient' }));
    emit(refusedEvent('ada', 'model_not_found'));
    clock.advance(1_000);
    emit(refusedEvent('ada', 'model_not_found', { param: 'model', requestedModel: 'gpt-9' }));
    emit(refusedEvent('bob', 'rate_limited'));

    const fromMs = startMs - 3_600_000;
    const reasons = await admin.refusals.reasons({ keyId: 'ada', fromMs });
    const sinceMs = Math.floor(fromMs / 60_000) * 60_000;
    expect(reasons).toMatchObject([
      { code: 'insufficient_quota', count: 12, source: 'log', sinceMs, lastMs: startMs },
      { code: 'model_not_found', detail: 'gpt-9', count: 2, source: 'process', sinceMs: startMs },
    ]);
    for (const { meaning } of reasons) expect(meaning).toBeTypeOf('string');
    const some = { fromMs, code: 'model_not_found' };
    expect(await admin.refusals.reasons({ ...some, keyId: 'ada' })).toMatchObject([{ count: 2 }]);
    expect(await admin.refusals.reasons(some)).toMatchObject([{ count: 2, source: 'process' }]);
    expect(await admin.refusals.reasons({ ...some, modelId: 'm' })).toEqual([]);
    expect(await admin.refusals.reasons({ fromMs, code: 'none' })).toEqual([]);
  });
});
