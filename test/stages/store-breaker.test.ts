/** A store that hangs delays a few callers, and no others. */
import { describe, expect, it } from 'vitest';
import type { ReserveResult } from '../../src/ports/quota-store.ts';
import { storeBreaker } from '../../src/stages/store-breaker.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { inTime, pass, turns } from './failing.ts';
import { type Scene, type SceneSetup, scene } from './scene.ts';
import { ask, whole } from './scene-models.ts';

/** A quota store that does not answer while it is down. */
function goneStore(setup: SceneSetup = {}): { readonly set: Scene; come(): void; asked(): number } {
  let isGone = true;
  let asked = 0;
  const set = scene({
    plays: Array.from({ length: 20 }, () => whole('chat')),
    store: (quota) => ({
      reserve: (input) => {
        asked += 1;
        return isGone ? new Promise<ReserveResult>(() => {}) : quota.reserve(input);
      },
    }),
    ...setup,
  });
  return {
    set,
    come: () => {
      isGone = false;
    },
    asked: () => asked,
  };
}

describe('a quota store that hangs', () => {
  it('is waited for by three callers; the others are refused immediately', async () => {
    const { set, asked } = goneStore();
    for (let call = 0; call < 3; call += 1) await inTime(set.clock, set.call(ask.chat));
    const before = set.clock.monotonicMs();

    const answers = await Promise.all(Array.from({ length: 50 }, () => set.call(ask.chat)));

    expect(set.clock.monotonicMs()).toBe(before);
    expect(asked()).toBe(3);
    for (const { status, headers, text } of answers) {
      expect(status).toBe(503);
      expect(headers['retry-after']).toBe('1');
      expect(JSON.parse(text).error.code).toBe('store_unavailable');
    }
    const reasons = set.events.flatMap((event) =>
      event.type === 'port_failed' && event.operation === 'reserve' ? [event.reason] : [],
    );
    expect(reasons.slice(0, 3)).toEqual(Array(3).fill('StoreUnavailable'));
    expect(reasons.slice(3)).toEqual(Array(50).fill('circuit_open'));
  });

  it('is tried by one caller at a time, and serves again after its first answer', async () => {
    const { set, come, asked } = goneStore();
    for (let call = 0; call < 3; call += 1) await inTime(set.clock, set.call(ask.chat));
    await pass(set.clock, 1_000);

    const probe = set.call(ask.chat);
    await turns();
    expect(asked()).toBe(4);
    expect((await set.call(ask.chat)).status).toBe(503);
    expect(asked()).toBe(4);
    expect((await inTime(set.clock, probe)).status).toBe(503);

    come();
    await pass(set.clock, 1_000);
    const served = await Promise.all([set.call(ask.chat), set.call(ask.chat)]);
    // The first of them was the half-open trial, and got its answer before the other one asked.
    expect(served.map(({ status }) => status)).toEqual([200, 200]);
  });

  it('is replaced by the host, and the new one is asked immediately', async () => {
    const { set } = goneStore();
    for (let call = 0; call < 3; call += 1) await inTime(set.clock, set.call(ask.chat));

    set.gateway.update({ quota: set.quota });

    expect((await set.call(ask.chat)).status).toBe(200);
  });

  it('gets no releases for reserves that were never sent', async () => {
    const released: string[] = [];
    const hung = new Promise<ReserveResult>(() => {});
    const { set } = goneStore({
      store: () => ({
        reserve: () => hung,
        release: ({ id }) => {
          released.push(id);
          return { status: 'released' };
        },
      }),
    });
    for (let call = 0; call < 3; call += 1) await inTime(set.clock, set.call(ask.chat));

    for (let call = 0; call < 10; call += 1) await set.call(ask.chat);

    expect(released).toHaveLength(3);
  });
});

it('a store that fails fast, or answers one call wrongly, is asked by every call', async () => {
  let asked = 0;
  const { call } = scene({
    store: () => ({
      reserve: () => {
        asked += 1;
        throw new Error('a damaged row');
      },
    }),
  });

  for (let count = 0; count < 10; count += 1) expect((await call(ask.chat)).status).toBe(503);

  expect(asked).toBe(10);
});

describe('a breaker', () => {
  it('opens only after failures in a row', () => {
    const breaker = storeBreaker(fakeClock());
    for (let round = 0; round < 10; round += 1) {
      breaker.failed(1_000, 1_000);
      breaker.failed(500, 1_000);
      breaker.answered();
    }
    expect(breaker.admits()).toBe(true);
    for (let count = 0; count < 3; count += 1) breaker.failed(1_000, 1_000);

    expect(breaker.admits()).toBe(false);
  });

  it('allows one trial after a pause, and closes after a fast failure', () => {
    const clock = fakeClock();
    const breaker = storeBreaker(clock);
    for (let count = 0; count < 3; count += 1) breaker.failed(1_000, 1_000);
    clock.advance(250);

    expect([breaker.admits(), breaker.admits()]).toEqual([true, false]);
    breaker.failed(1_000, 1_000);
    expect(breaker.admits()).toBe(false);
    clock.advance(250);
    expect(breaker.admits()).toBe(true);
    breaker.failed(2, 1_000);

    expect([breaker.admits(), breaker.admits()]).toEqual([true, true]);
  });
});
