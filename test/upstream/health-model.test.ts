// suite: slow
/**
 * Checks channel health against a small reference model over generated sequences of signals and
 * times, and invariants of concurrent calls.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FailureReason } from '../../src/failure-reasons.ts';
import type { Channel } from '../../src/ports/models/catalog.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import {
  type ChannelHealth,
  type ChannelLease,
  channelHealth,
} from '../../src/upstream/channel-health.ts';
import type { HealthSignal } from '../../src/upstream/record-health.ts';

const channel: Channel = {
  id: 'a',
  dialect: 'openai',
  baseUrl: 'https://a.example/v1',
  credential: 'secret',
  priority: 0,
  weight: 1,
};
const text = { isBoughtOnce: false };
const request = { modelId: 'm', reply: 'whole' } as const;

/** No jitter: 0.5 is the middle of its range. */
function healthAt(clock: FakeClock): ChannelHealth {
  return channelHealth(
    clock,
    () => 0.5,
    () => {},
  );
}

type Access = 'available' | 'deprioritized' | 'one at a time' | 'unavailable';

function accessOf(health: ChannelHealth, model: string): Access {
  const availability = health.availability(channel, model, text);
  if (availability.kind !== 'unavailable') return availability.kind;
  return availability.lastResort && availability.isInUse !== true ? 'one at a time' : 'unavailable';
}

/** The reference model of an account, or of a model on it, for sequential calls. */
class Reference {
  failures = 0;
  timeouts = 0;
  disconnectedKeys = new Set<string>();
  openings = 0;
  unnamedCooldowns = 0;
  unavailableUntilMs = 0;
  isOpen = false;
  lastResort = false;
  deprioritizedUntilMs: number | undefined;

  /** What a text call finds. */
  access(nowMs: number): Access {
    if (nowMs < this.unavailableUntilMs) return this.lastResort ? 'one at a time' : 'unavailable';
    return this.deprioritizedUntilMs !== undefined && nowMs < this.deprioritizedUntilMs
      ? 'deprioritized'
      : 'available';
  }

  succeed(): void {
    Object.assign(this, new Reference());
  }

  fail(nowMs: number, by: { readonly timeout: boolean; readonly lastResort: boolean }): void {
    const isTrial = this.isOpen && nowMs >= this.unavailableUntilMs;
    if (this.isOpen && !isTrial && !this.lastResort)
      throw new Error('a call went to an open circuit');
    if (this.isOpen && !isTrial) return;
    this.failures += 1;
    this.timeouts += by.timeout ? 1 : 0;
    this.update(nowMs, isTrial || this.failures >= 5, by.lastResort);
  }

  disconnect(nowMs: number, key: string): void {
    if (this.isOpen || nowMs < this.unavailableUntilMs || this.disconnectedKeys.has(key)) return;
    this.disconnectedKeys.add(key);
    this.timeouts += 0.5;
    this.update(nowMs, false, false);
  }

  cooldown(nowMs: number, forMs: number | undefined): void {
    const spanMs = forMs ?? Math.min(10_000 * 2 ** this.unnamedCooldowns, 300_000);
    if (forMs === undefined) this.unnamedCooldowns += 1;
    const isTrial = this.isOpen && nowMs >= this.unavailableUntilMs;
    const untilMs = nowMs + Math.max(1_000, spanMs);
    const isShorter = !isTrial && this.unavailableUntilMs > untilMs;
    if (isShorter) return;
    this.unavailableUntilMs = untilMs;
    this.isOpen = false;
    this.lastResort = true;
  }

  private update(nowMs: number, opens: boolean, lastResort: boolean): void {
    if (opens || this.timeouts >= 2) {
      const { openings, unnamedCooldowns, unavailableUntilMs } = this;
      const untilMs = nowMs + Math.min(30_000 * (openings + 1), 300_000);
      // A longer cooldown stays, unless the open circuit excludes last-resort calls.
      const keepsCooldown =
        nowMs < unavailableUntilMs && unavailableUntilMs > untilMs && lastResort;
      Object.assign(this, new Reference(), {
        openings: openings + 1,
        unnamedCooldowns,
        unavailableUntilMs: Math.max(untilMs, nowMs < unavailableUntilMs ? unavailableUntilMs : 0),
        isOpen: !keepsCooldown,
        lastResort,
      });
    } else if (this.timeouts >= 1) {
      this.deprioritizedUntilMs = nowMs + 30_000;
    }
  }
}

type Step = { readonly gapMs: number; readonly signal: HealthSignal };

const failure = (
  reason: FailureReason,
  where: 'account' | 'model',
  timedOut: boolean,
): HealthSignal => ({
  kind: 'failed',
  reason,
  where,
  timedOut,
});

const signals: fc.Arbitrary<HealthSignal> = fc.oneof(
  { weight: 2, arbitrary: fc.constant<HealthSignal>({ kind: 'served' }) },
  { weight: 1, arbitrary: fc.constant<HealthSignal>({ kind: 'neutral' }) },
  { weight: 6, arbitrary: fc.constant(failure('upstream_error', 'model', false)) },
  { weight: 3, arbitrary: fc.constant(failure('headers_timeout', 'model', true)) },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom('k', 'l', 'm', 'n')
      .map(
        (keyId): HealthSignal => ({ kind: 'disconnected_waiting', reason: 'caller_left', keyId }),
      ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(undefined, 500, 20_000, 400_000).map(
      (forMs): HealthSignal => ({
        kind: 'cooldown',
        reason: 'upstream_overloaded',
        where: 'model',
        forMs,
        lastResort: true,
      }),
    ),
  },
);
const gaps = fc.constantFrom(0, 1, 500, 9_999, 10_000, 30_000, 45_000, 300_000, 3_600_000);
const steps: fc.Arbitrary<readonly Step[]> = fc.array(fc.record({ gapMs: gaps, signal: signals }), {
  maxLength: 60,
});

function apply(reference: Reference, signal: HealthSignal, nowMs: number): void {
  if (signal.kind === 'served') reference.succeed();
  if (signal.kind === 'disconnected_waiting') reference.disconnect(nowMs, signal.keyId);
  if (signal.kind === 'cooldown') reference.cooldown(nowMs, signal.forMs);
  if (signal.kind === 'failed') {
    const timeout = signal.timedOut === true;
    reference.fail(nowMs, { timeout, lastResort: !timeout });
  }
}

it('sequential calls find what the reference model says, for any outcomes and times', () => {
  fc.assert(
    fc.property(steps, (generated) => {
      const clock = fakeClock();
      const health = healthAt(clock);
      const reference = new Reference();
      for (const { gapMs, signal } of generated) {
        clock.advance(gapMs);
        const nowMs = clock.monotonicMs();
        const access = accessOf(health, 'm');
        expect(access).toBe(reference.access(nowMs));
        if (access === 'unavailable') continue;
        const lease = health.begin(channel, 'm', request);
        lease.end(signal);
        apply(reference, signal, nowMs);
      }
    }),
    { numRuns: 2_000 },
  );
});

type Act =
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'begin' }
  | { readonly kind: 'byte' | 'answer'; readonly of: number }
  | { readonly kind: 'end'; readonly of: number; readonly signal: HealthSignal };

const index = fc.nat({ max: 7 });
const acts: fc.Arbitrary<readonly Act[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: gaps.map((ms): Act => ({ kind: 'advance', ms })) },
    { weight: 5, arbitrary: fc.constant<Act>({ kind: 'begin' }) },
    { weight: 2, arbitrary: index.map((of): Act => ({ kind: 'byte', of })) },
    { weight: 1, arbitrary: index.map((of): Act => ({ kind: 'answer', of })) },
    {
      weight: 5,
      arbitrary: fc.tuple(index, signals).map(([of, signal]): Act => ({ kind: 'end', of, signal })),
    },
  ),
  { maxLength: 80 },
);

/** A running call, and what it found when it began. */
interface Running {
  readonly lease: ChannelLease;
  readonly access: Access;
  hasByte: boolean;
  isAnswered: boolean;
}

/**
 * Runs the actions as the gateway would: a byte before a reply, and no call through an unavailable
 * channel.
 */
function run(
  generated: readonly Act[],
  look: (running: readonly Running[], state: string) => void,
) {
  const clock = fakeClock();
  const health = healthAt(clock);
  const running: Running[] = [];
  const stateOf = (): string => health.statuses()[0]?.models[0]?.state ?? 'ready';
  for (const act of generated) {
    if (act.kind === 'advance') clock.advance(act.ms);
    else if (act.kind === 'begin') {
      const access = accessOf(health, 'm');
      if (access === 'unavailable') continue;
      const lease = health.begin(channel, 'm', request);
      running.push({ lease, access, hasByte: false, isAnswered: false });
    } else {
      const one = running[act.of % Math.max(1, running.length)];
      if (one === undefined) continue;
      if (act.kind === 'end') {
        one.lease.end(act.signal);
        running.splice(running.indexOf(one), 1);
      } else if (!one.hasByte) {
        one.lease.firstByte(clock.monotonicMs());
        one.hasByte = true;
      } else if (act.kind === 'answer' && !one.isAnswered) {
        one.lease.answered();
        one.isAnswered = true;
      }
    }
    health.tick();
    look(running, stateOf());
  }
  return { clock, health, running };
}

describe('with concurrent calls', () => {
  it('counts the calls in flight, and restores full capacity when all have ended', () => {
    fc.assert(
      fc.property(acts, (generated) => {
        const { clock, health, running } = run(generated, () => {});
        expect(health.inFlight(channel)).toBe(running.length);
        for (const { lease } of running) lease.end({ kind: 'neutral' });
        clock.advance(3_600_001);
        expect(accessOf(health, 'm')).not.toBe('unavailable');
        const lease = health.begin(channel, 'm', request);
        lease.firstByte(clock.monotonicMs());
        lease.end({ kind: 'served' });
        expect(accessOf(health, 'm')).toBe('available');
        expect(health.statuses()[0]).toMatchObject({ state: 'ready', inFlight: 0, models: [] });
      }),
      { numRuns: 2_000 },
    );
  });

  it('lets at most one trial call through a half-open circuit, and no other', () => {
    fc.assert(
      fc.property(acts, (generated) => {
        let known: readonly Running[] = [];
        let before = 'ready';
        run(generated, (running, state) => {
          const fresh = running.filter((one) => !known.includes(one));
          if (before === 'half_open') expect(fresh).toEqual([]);
          known = [...running];
          before = state;
        });
      }),
      { numRuns: 2_000 },
    );
  });

  it('lets one call at a time wait for a first byte from a channel of last resort', () => {
    fc.assert(
      fc.property(acts, (generated) => {
        let known: readonly Running[] = [];
        let ofPause: readonly Running[] = [];
        run(generated, (running) => {
          // The outcome of a call may replace the pause.
          const hasEnded = known.some((one) => !running.includes(one));
          const fresh = running.filter((one) => !known.includes(one));
          const last = [...ofPause, ...fresh].filter(({ access }) => access === 'one at a time');
          ofPause = hasEnded ? [] : last;
          expect(ofPause.filter(({ hasByte }) => !hasByte).length).toBeLessThanOrEqual(1);
          known = [...running];
        });
      }),
      { numRuns: 2_000 },
    );
  });
});
