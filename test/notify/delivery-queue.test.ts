// suite: quick
/** The queue: each notification is delivered or given up once, after bounded waits. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventOf } from '../../src/events/events.ts';
import type { NotificationType } from '../../src/events/notification-types.ts';
import type { AttemptResult } from '../../src/notify/attempt.ts';
import { DeliveryQueue } from '../../src/notify/delivery-queue.ts';
import { importance, type Message } from '../../src/notify/messages.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

type Failure = Omit<EventOf<'notification_failed'>, 'type' | 'endpoint'>;

interface Tried {
  readonly id: string;
  readonly atMs: number;
}

/** A queue whose attempts end at once, as scripted, and then always like the last. */
function queueWith(script: readonly AttemptResult[], random = (): number => 0.5) {
  const clock = fakeClock();
  const tried: Tried[] = [];
  const delivered: string[] = [];
  const failures: Failure[] = [];
  const queue = new DeliveryQueue({
    ...{ clock, random },
    attempt: async ({ id }) => {
      const result = script[tried.length] ?? script.at(-1) ?? accepted;
      tried.push({ id, atMs: clock.now() });
      if (result.kind === 'delivered') delivered.push(id);
      return result;
    },
    report: (failure) => failures.push(failure),
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
  };
  /** Runs every attempt that falls due in that time. */
  const pass = async (ms: number, stepMs = 1_000): Promise<void> => {
    await settle();
    for (let passed = 0; passed < ms; passed += stepMs) {
      clock.advance(stepMs);
      await settle();
    }
  };
  return { queue, clock, tried, delivered, failures, pass, settle };
}

const accepted: AttemptResult = { kind: 'delivered', status: 204 };
const down: AttemptResult = { kind: 'retry', reason: 'unavailable', status: 503 };
const refused: AttemptResult = { kind: 'final', reason: 'refused', status: 400 };

function message(id: string, type: NotificationType = 'budget.reached'): Message {
  return { id, type, body: Buffer.from('{}') };
}

function waitsIn(tried: readonly Tried[]): readonly number[] {
  return tried.slice(1).map(({ atMs }, index) => atMs - (tried[index]?.atMs ?? 0));
}

describe('the queue', () => {
  it('waits 5, 20, 80, 320 and then 900 s, three quarters of it at a half', async () => {
    const { queue, tried, failures, pass } = queueWith([down]);

    queue.add(message('a'));
    await pass(7 * 3_600_000, 250);

    const waits = waitsIn(tried);
    expect(waits.slice(0, 6)).toEqual([3_750, 15_000, 60_000, 240_000, 675_000, 675_000]);
    expect(failures).toMatchObject([{ id: 'a', reason: 'unavailable', status: 503 }]);
    const wholeMs = waits.reduce((sum, ms) => sum + ms, 0);
    expect(wholeMs).toBeLessThanOrEqual(6 * 3_600_000);
    expect(wholeMs).toBeGreaterThan(5 * 3_600_000);
  });

  it('waits as long as requested, but an hour at most', async () => {
    const busy = (retryAfterMs: number): AttemptResult => ({
      ...down,
      kind: 'retry',
      retryAfterMs,
    });
    const script = [busy(120_000), busy(7_200_000), accepted];
    const { queue, tried, delivered, pass } = queueWith(script);

    queue.add(message('a'));
    await pass(2 * 3_600_000);

    expect(waitsIn(tried)).toEqual([120_000, 3_600_000]);
    expect(delivered).toEqual(['a']);
  });

  it('does not hold up others behind one that always fails', async () => {
    const { queue, tried, delivered, pass } = queueWith([down, accepted, down, accepted, down]);

    for (const id of ['poison', 'b']) queue.add(message(id));
    await pass(60_000);

    expect(tried.slice(0, 2).map(({ id }) => id)).toEqual(['poison', 'b']);
    expect(delivered).toEqual(['b', 'poison']);
  });

  it('keeps a thousand, and drops the oldest of the least important', async () => {
    const { queue, failures, settle } = queueWith([down]);
    queue.add(message('first', 'settlements.lost'));
    await settle();

    for (let index = 0; index < 500; index += 1) queue.add(message(`out-${index}`, 'channel.out'));
    for (let index = 0; index < 500; index += 1)
      queue.add(message(`back-${index}`, 'channel.back'));
    for (let index = 0; index < 3; index += 1) queue.add(message(`low-${index}`));

    const dropped = [0, 1, 2, 3].map((index) => ({ id: `back-${index}`, reason: 'queue_full' }));
    expect(failures).toMatchObject(dropped);
    expect(failures.length).toBe(4);
  });

  const step = fc.oneof(
    fc.record({ add: fc.nat(30), type: fc.constantFrom(...types()) }),
    fc.record({ pass: fc.integer({ min: 1, max: 3_000 }) }),
  );
  const result = fc.oneof(
    ...[accepted, refused, down].map((one) => fc.constant(one)),
    fc.constant<AttemptResult>({ kind: 'retry', reason: 'timeout' }),
    fc.record({ kind: fc.constant('retry'), reason: fc.constant('connection') }),
  );

  it('delivers each or reports it, once, and nothing twice', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 40 }),
        fc.array(result, { minLength: 1, maxLength: 40 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        async (steps, script, number) => {
          const { queue, delivered, failures, pass, tried } = queueWith(
            script.flatMap((one) => (isResult(one) ? [one] : [])),
            () => number,
          );
          const added = new Set<string>();
          for (const one of steps) {
            if ('pass' in one) await pass(one.pass * 1_000, 60_000);
            else {
              added.add(String(one.add));
              queue.add(message(String(one.add), one.type));
            }
          }
          await queue.close();

          const ended = [...delivered, ...failures.map(({ id }) => id)];
          expect(ended.toSorted()).toEqual([...added].toSorted());
          const counts = new Map<string, number>();
          for (const { id } of tried) counts.set(id, (counts.get(id) ?? 0) + 1);
          for (const { id, attempts } of failures) expect(attempts).toBe(counts.get(id) ?? 0);
        },
      ),
      { numRuns: 150 },
    );
  });
});

function types(): readonly NotificationType[] {
  return ['settlements.lost', 'budget.reached', 'channel.out', 'channel.back'].filter(isType);
}

function isType(name: string): name is NotificationType {
  return Object.hasOwn(importance, name);
}

function isResult(value: { readonly kind: string }): value is AttemptResult {
  return ['delivered', 'final', 'retry'].includes(value.kind);
}
