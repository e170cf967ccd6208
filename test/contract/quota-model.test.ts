/** Two stores that share no step answer every sequence of operations alike, to the last nano. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { QuotaStore } from '../../src/ports/quota-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { simpleQuotaStore } from './simple-quota-store.ts';

const partition = 'model';
const subjects = ['a', 'b', 'c'] as const;
const periods = ['', '2026-11'] as const;
const id = fc.integer({ min: 1, max: 8 }).map((number) => `reservation-0000${number}`);
const amount = fc.bigInt({ min: 0n, max: 40n });

/** One line a subject, sorted as a reserve wants them. */
const lines = fc
  .subarray([...subjects], { minLength: 1 })
  .chain((chosen) =>
    fc.tuple(
      ...chosen.map((subject) =>
        fc.record({ subject: fc.constant(subject), period: fc.constantFrom(...periods), amount }),
      ),
    ),
  );

const step = fc.oneof(
  fc.record({
    op: fc.constant('reserve' as const),
    id,
    lines,
    ttlMs: fc.constantFrom(1_000, 5_000),
    share: fc.constantFrom(undefined, 0n, 2n),
    cap: fc.constantFrom(undefined, 1, 2),
  }),
  fc.record({
    op: fc.constant('extend' as const),
    id,
    add: fc.constantFrom(undefined, 0n, 5n, 30n),
  }),
  fc.record({ op: fc.constant('settle' as const), id, lines }),
  fc.record({ op: fc.constant('release' as const), id, lines }),
  fc.record({ op: fc.constant('sweep' as const), max: fc.integer({ min: 1, max: 20 }) }),
  fc.record({
    op: fc.constant('adjust' as const),
    id,
    subject: fc.constantFrom(...subjects),
    limit: fc.bigInt({ min: 0n, max: 120n }),
    enabled: fc.boolean(),
  }),
  fc.record({ op: fc.constant('wait' as const), ms: fc.constantFrom(1, 999, 1_000, 4_000) }),
);

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** An operation on one store; lines carry a limit, so that rows come to be. */
async function play(store: QuotaStore, step: Step, lengths: Map<string, number>): Promise<unknown> {
  switch (step.op) {
    case 'reserve':
      return store.reserve({
        id: step.id,
        partition,
        lines: step.lines.map((line) => ({ ...line, limit: 100n })),
        ttlMs: step.ttlMs,
        onExpire:
          step.share === undefined
            ? 'release'
            : { charge: step.lines.map((line) => line.amount / 2n) },
        maxInFlight: step.lines.map(() => step.cap),
      });
    case 'extend': {
      const { add } = step;
      const growth = Array.from({ length: lengths.get(step.id) ?? 1 }, () => add ?? 0n);
      return store.extend([
        { id: step.id, partition, ttlMs: 3_000, ...(add === undefined ? {} : { add: growth }) },
      ]);
    }
    case 'settle':
      return store.settle({ id: step.id, partition, lines: step.lines, basis: 'usage' });
    case 'release':
      return store.release({ id: step.id, partition, lines: step.lines });
    case 'sweep':
      // Which leases a bounded sweep takes first is a store's affair: all of them, then.
      return store.sweep({ max: 1_000 + step.max });
    case 'adjust':
      // How far a version moves is a store's affair too.
      return { ...(await store.adjust({ ...step, partition, period: '' })), version: 0 };
    default:
      return undefined;
  }
}

async function rowsOf(store: QuotaStore): Promise<readonly unknown[]> {
  const rows = [];
  for (const subject of subjects) {
    for (const period of periods) {
      const state = await store.read(subject, period, partition);
      rows.push(state === undefined ? undefined : { ...state, version: 0 });
    }
  }
  return rows;
}

it('the memory store and a naive one agree on every answer and every row', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const clock = fakeClock();
      const stores = [memoryQuotaStore({ clock }), simpleQuotaStore(clock)] as const;
      const lengths = new Map<string, number>();
      for (const step of steps) {
        if (step.op === 'wait') clock.advance(step.ms);
        const own = await play(stores[0], step, lengths);
        const naive = await play(stores[1], step, lengths);
        expect(own).toEqual(naive);
        if (step.op === 'reserve' && status(own) === 'held') {
          lengths.set(step.id, step.lines.length);
        }
        expect(await rowsOf(stores[0])).toEqual(await rowsOf(stores[1]));
      }
    }),
    { seed: 20_261_120, numRuns: 300 },
  );
});

function status(result: unknown): unknown {
  return typeof result === 'object' && result !== null && 'status' in result
    ? result.status
    : undefined;
}
