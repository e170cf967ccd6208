/**
 * The health of a channel against a small reference of its rules, over drawn sequences of verdicts
 * and times; and what must hold however calls run beside one another.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Channel } from '../../src/ports/catalog.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import {
  type ChannelHealth,
  type ChannelLease,
  channelHealth,
  type HealthSignal,
} from '../../src/upstream/channel-health.ts';

const channel: Channel = {
  id: 'a',
  dialect: 'openai',
  baseUrl: 'https://a.example/v1',
  credential: 'secret',
  priority: 0,
  weight: 1,
};
const text = { isBoughtOnce: false };
const asked = { modelId: 'm', reply: 'whole' } as const;

/** Half way between the ends of every spread, so that lengths are those of the rules. */
function healthAt(clock: FakeClock): ChannelHealth {
  return channelHealth(
    clock,
    () => 0.5,
    () => {},
  );
}

type Word = 'open' | 'last' | 'one at a time' | 'out';

function wordOf(health: ChannelHealth, model: string): Word {
  const availability = health.availability(channel, model, text);
  if (availability.kind !== 'out') return availability.kind;
  return availability.yields && availability.isInUse !== true ? 'one at a time' : 'out';
}

/** One call after the other: what is known of an account, or of a model on it. */
class Reference {
  failures = 0;
  timeouts = 0;
  leavers = new Set<string>();
  opened = 0;
  unnamedRests = 0;
  outUntilMs = 0;
  isOpen = false;
  yields = false;
  lastUntilMs: number | undefined;

  /** What a call of text meets. */
  word(nowMs: number): Word {
    if (nowMs < this.outUntilMs) return this.yields ? 'one at a time' : 'out';
    return this.lastUntilMs !== undefined && nowMs < this.lastUntilMs ? 'last' : 'open';
  }

  serve(): void {
    Object.assign(this, new Reference());
  }

  fail(nowMs: number, by: { readonly timeout: boolean; readonly yields: boolean }): void {
    const isProbe = this.isOpen && nowMs >= this.outUntilMs;
    if (this.isOpen && !isProbe && !this.yields) throw new Error('a call went to an open circuit');
    if (this.isOpen && !isProbe) return;
    this.failures += 1;
    this.timeouts += by.timeout ? 1 : 0;
    this.judge(nowMs, isProbe || this.failures >= 5, by.yields);
  }

  leave(nowMs: number, key: string): void {
    if (this.isOpen || nowMs < this.outUntilMs || this.leavers.has(key)) return;
    this.leavers.add(key);
    this.timeouts += 0.5;
    this.judge(nowMs, false, false);
  }

  rest(nowMs: number, forMs: number | undefined): void {
    const spanMs = forMs ?? Math.min(10_000 * 2 ** this.unnamedRests, 300_000);
    if (forMs === undefined) this.unnamedRests += 1;
    const isProbe = this.isOpen && nowMs >= this.outUntilMs;
    const untilMs = nowMs + Math.max(1_000, spanMs);
    const isShorter = !isProbe && this.outUntilMs > untilMs;
    if (isShorter) return;
    this.outUntilMs = untilMs;
    this.isOpen = false;
    this.yields = true;
  }

  private judge(nowMs: number, isOut: boolean, yields: boolean): void {
    if (isOut || this.timeouts >= 2) {
      const { opened, unnamedRests, outUntilMs } = this;
      const untilMs = nowMs + Math.min(30_000 * (opened + 1), 300_000);
      // A rest that lasts longer stays, unless nothing may pass the open circuit.
      const staysRest = nowMs < outUntilMs && outUntilMs > untilMs && yields;
      Object.assign(this, new Reference(), {
        opened: opened + 1,
        unnamedRests,
        outUntilMs: Math.max(untilMs, nowMs < outUntilMs ? outUntilMs : 0),
        isOpen: !staysRest,
        yields,
      });
    } else if (this.timeouts >= 1) {
      this.lastUntilMs = nowMs + 30_000;
    }
  }
}

type Step = { readonly gapMs: number; readonly verdict: HealthSignal };

const failure = (reason: string, where: 'account' | 'model', timedOut: boolean): HealthSignal => ({
  kind: 'failed',
  reason,
  where,
  timedOut,
});

const verdicts: fc.Arbitrary<HealthSignal> = fc.oneof(
  { weight: 2, arbitrary: fc.constant<HealthSignal>({ kind: 'served' }) },
  { weight: 1, arbitrary: fc.constant<HealthSignal>({ kind: 'nothing' }) },
  { weight: 6, arbitrary: fc.constant(failure('upstream_error', 'model', false)) },
  { weight: 3, arbitrary: fc.constant(failure('headers_timeout', 'model', true)) },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom('k', 'l', 'm', 'n')
      .map((keyId): HealthSignal => ({ kind: 'left_waiting', reason: 'caller_left', keyId })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(undefined, 500, 20_000, 400_000).map(
      (forMs): HealthSignal => ({
        kind: 'rest',
        reason: 'r',
        where: 'model',
        forMs,
        yields: true,
      }),
    ),
  },
);
const gaps = fc.constantFrom(0, 1, 500, 9_999, 10_000, 30_000, 45_000, 300_000, 3_600_000);
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({ gapMs: gaps, verdict: verdicts }),
  { maxLength: 60 },
);

function apply(reference: Reference, verdict: HealthSignal, nowMs: number): void {
  if (verdict.kind === 'served') reference.serve();
  if (verdict.kind === 'left_waiting') reference.leave(nowMs, verdict.keyId);
  if (verdict.kind === 'rest') reference.rest(nowMs, verdict.forMs);
  if (verdict.kind === 'failed') {
    const timeout = verdict.timedOut === true;
    reference.fail(nowMs, { timeout, yields: !timeout });
  }
}

it('calls one after the other meet what the rules say, whatever comes of them and when', () => {
  fc.assert(
    fc.property(steps, (drawn) => {
      const clock = fakeClock();
      const health = healthAt(clock);
      const reference = new Reference();
      for (const { gapMs, verdict } of drawn) {
        clock.advance(gapMs);
        const nowMs = clock.monotonicMs();
        const word = wordOf(health, 'm');
        expect(word).toBe(reference.word(nowMs));
        if (word === 'out') continue;
        const lease = health.begin(channel, 'm', asked);
        lease.end(verdict);
        apply(reference, verdict, nowMs);
      }
    }),
    { numRuns: 2_000, seed: 20_261_122 },
  );
});

type Act =
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'begin' }
  | { readonly kind: 'byte' | 'answer'; readonly of: number }
  | { readonly kind: 'end'; readonly of: number; readonly verdict: HealthSignal };

const index = fc.nat({ max: 7 });
const acts: fc.Arbitrary<readonly Act[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: gaps.map((ms): Act => ({ kind: 'advance', ms })) },
    { weight: 5, arbitrary: fc.constant<Act>({ kind: 'begin' }) },
    { weight: 2, arbitrary: index.map((of): Act => ({ kind: 'byte', of })) },
    { weight: 1, arbitrary: index.map((of): Act => ({ kind: 'answer', of })) },
    {
      weight: 5,
      arbitrary: fc
        .tuple(index, verdicts)
        .map(([of, verdict]): Act => ({ kind: 'end', of, verdict })),
    },
  ),
  { maxLength: 80 },
);

/** A call under way, and what stood when it began. */
interface Running {
  readonly lease: ChannelLease;
  readonly word: Word;
  hasByte: boolean;
  isAnswered: boolean;
}

/** Plays them as the gateway would: a byte before an answer, and nothing where it may not go. */
function play(drawn: readonly Act[], look: (running: readonly Running[], state: string) => void) {
  const clock = fakeClock();
  const health = healthAt(clock);
  const running: Running[] = [];
  const stateOf = (): string => health.statuses()[0]?.models[0]?.state ?? 'ready';
  for (const act of drawn) {
    if (act.kind === 'advance') clock.advance(act.ms);
    else if (act.kind === 'begin') {
      const word = wordOf(health, 'm');
      if (word === 'out') continue;
      const lease = health.begin(channel, 'm', asked);
      running.push({ lease, word, hasByte: false, isAnswered: false });
    } else {
      const one = running[act.of % Math.max(1, running.length)];
      if (one === undefined) continue;
      if (act.kind === 'end') {
        one.lease.end(act.verdict);
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

describe('however calls run beside one another', () => {
  it('the calls in flight are counted, and capacity comes back when all have ended', () => {
    fc.assert(
      fc.property(acts, (drawn) => {
        const { clock, health, running } = play(drawn, () => {});
        expect(health.inFlight(channel)).toBe(running.length);
        for (const { lease } of running) lease.end({ kind: 'nothing' });
        clock.advance(3_600_001);
        expect(wordOf(health, 'm')).not.toBe('out');
        const lease = health.begin(channel, 'm', asked);
        lease.firstByte(clock.monotonicMs());
        lease.end({ kind: 'served' });
        expect(wordOf(health, 'm')).toBe('open');
        expect(health.statuses()[0]).toMatchObject({ state: 'ready', inFlight: 0, models: [] });
      }),
      { numRuns: 2_000, seed: 20_261_123 },
    );
  });

  it('one call at most finds out whether a circuit may close, and none goes beside it', () => {
    fc.assert(
      fc.property(acts, (drawn) => {
        let known: readonly Running[] = [];
        let before = 'ready';
        play(drawn, (running, state) => {
          const fresh = running.filter((one) => !known.includes(one));
          if (before === 'half_open') expect(fresh).toEqual([]);
          known = [...running];
          before = state;
        });
      }),
      { numRuns: 2_000, seed: 20_261_124 },
    );
  });

  it('a last channel has one call at a time that waits for its first byte', () => {
    fc.assert(
      fc.property(acts, (drawn) => {
        let known: readonly Running[] = [];
        let ofPause: readonly Running[] = [];
        play(drawn, (running) => {
          // What a call ends with may put another pause in place of the one that stood.
          const hasEnded = known.some((one) => !running.includes(one));
          const fresh = running.filter((one) => !known.includes(one));
          const last = [...ofPause, ...fresh].filter(({ word }) => word === 'one at a time');
          ofPause = hasEnded ? [] : last;
          expect(ofPause.filter(({ hasByte }) => !hasByte).length).toBeLessThanOrEqual(1);
          known = [...running];
        });
      }),
      { numRuns: 2_000, seed: 20_261_125 },
    );
  });
});
