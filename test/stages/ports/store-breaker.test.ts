// suite: quick
/** A store that hangs delays a few callers, and no others. */
import { describe, expect, it } from 'vitest';
import type { ReserveResult } from '../../../src/ports/limits/quota-store.ts';
import { storeBreaker } from '../../../src/stages/ports/port-calls.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import {
  type GatewaySetup,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import { completeReply, sampleRequests } from '../../support/models.ts';
import { inTime, pass, turns } from './failing.ts';

/** A quota store that does not answer while it is down. */
function goneStore(setup: GatewaySetup = {}): {
  readonly set: InProcessGateway;
  come(): void;
  callCount(): number;
} {
  let isGone = true;
  let requestCount = 0;
  const harness = gatewayInProcess({
    handlers: Array.from({ length: 20 }, () => completeReply('chat')),
    store: (quota) => ({
      reserve: (input) => {
        requestCount += 1;
        return isGone ? new Promise<ReserveResult>(() => {}) : quota.reserve(input);
      },
    }),
    ...setup,
  });
  return {
    set: harness,
    come: () => {
      isGone = false;
    },
    callCount: () => requestCount,
  };
}

describe('a quota store that hangs', () => {
  it('is waited for by three callers; the others are refused immediately', async () => {
    const { set: harness, callCount } = goneStore();
    for (let call = 0; call < 3; call += 1)
      await inTime(harness.clock, harness.call(sampleRequests.chat));
    const before = harness.clock.monotonicMs();

    const replies = await Promise.all(
      Array.from({ length: 50 }, () => harness.call(sampleRequests.chat)),
    );

    expect(harness.clock.monotonicMs()).toBe(before);
    expect(callCount()).toBe(3);
    for (const { status, headers, text } of replies) {
      expect(status).toBe(503);
      expect(headers['retry-after']).toBe('1');
      expect(JSON.parse(text).error.code).toBe('store_unavailable');
    }
    const reasons = harness.events.flatMap((event) =>
      event.type === 'port_failed' && event.operation === 'reserve' ? [event.reason] : [],
    );
    expect(reasons.slice(0, 3)).toEqual(Array(3).fill('StoreUnavailable'));
    expect(reasons.slice(3)).toEqual(Array(50).fill('circuit_open'));
  });

  it('is tried by one caller at a time, and serves again after its first answer', async () => {
    const { set: harness, come: arrive, callCount } = goneStore();
    for (let call = 0; call < 3; call += 1)
      await inTime(harness.clock, harness.call(sampleRequests.chat));
    await pass(harness.clock, 1_000);

    const probe = harness.call(sampleRequests.chat);
    await turns();
    expect(callCount()).toBe(4);
    expect((await harness.call(sampleRequests.chat)).status).toBe(503);
    expect(callCount()).toBe(4);
    expect((await inTime(harness.clock, probe)).status).toBe(503);

    arrive();
    await pass(harness.clock, 1_000);
    const served = await Promise.all([
      harness.call(sampleRequests.chat),
      harness.call(sampleRequests.chat),
    ]);
    // The first of them was the half-open trial, and got its answer before the other one asked.
    expect(served.map(({ status }) => status)).toEqual([200, 200]);
  });

  it('is replaced by the host, and the new one is asked immediately', async () => {
    const { set: harness } = goneStore();
    for (let call = 0; call < 3; call += 1)
      await inTime(harness.clock, harness.call(sampleRequests.chat));

    harness.gateway.update({ quota: harness.quota });

    expect((await harness.call(sampleRequests.chat)).status).toBe(200);
  });

  it('gets no releases for reserves that were never sent', async () => {
    const released: string[] = [];
    const hung = new Promise<ReserveResult>(() => {});
    const { set: harness } = goneStore({
      store: () => ({
        reserve: () => hung,
        release: ({ id }) => {
          released.push(id);
          return { status: 'released' };
        },
      }),
    });
    for (let call = 0; call < 3; call += 1)
      await inTime(harness.clock, harness.call(sampleRequests.chat));

    for (let call = 0; call < 10; call += 1) await harness.call(sampleRequests.chat);

    expect(released).toHaveLength(3);
  });
});

it('a store that fails fast, or answers one call wrongly, is asked by every call', async () => {
  let requestCount = 0;
  const { call } = gatewayInProcess({
    store: () => ({
      reserve: () => {
        requestCount += 1;
        throw new Error('a damaged row');
      },
    }),
  });

  for (let count = 0; count < 10; count += 1)
    expect((await call(sampleRequests.chat)).status).toBe(503);

  expect(requestCount).toBe(10);
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
