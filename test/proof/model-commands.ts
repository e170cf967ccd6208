/**
 * Random sequences of operations, each run on a store and on the reference model. They use few ids,
 * few subjects and small limits, so that operations affect each other.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { ExtendInput, QuotaLine } from '../../src/ports/limits/quota-store.ts';
import { comparable, type Operation, send } from './operations.ts';
import { apply, type Books, emptyBooks } from './quota-model.ts';
import type { ProofSetup, StoreUnderTest } from './stores-under-test.ts';

/** The state of the model, and its clock. */
interface Reference {
  books: Books;
  nowMs: number;
}

/** The store, and the ids and partition of this run. */
interface TestedStore {
  readonly setup: ProofSetup;
  readonly partition: string;
}

type Command = fc.AsyncCommand<Reference, TestedStore>;

/** A generated step: a wait, or an operation that is completed with the run's ids and partition. */
type Draft = (partition: string, books: Books) => Operation | { readonly waitMs: number };

/**
 * Runs `runs` sequences of up to 60 operations.
 *
 * @throws if a result or a row differs; fast-check then prints the seed and the shortest
 *   sequence that it found
 */
export async function agreesWithModel(
  under: StoreUnderTest,
  { seed, runs }: { readonly seed: number; readonly runs: number },
): Promise<void> {
  let count = 0;
  await fc.assert(
    fc.asyncProperty(fc.commands([...commands], { maxCommands: 60, size: '+1' }), async (drawn) => {
      count += 1;
      const partition = `model-${randomUUID().slice(0, 8)}-${count}`;
      const setup = await under.make();
      try {
        const init = (): { model: Reference; real: TestedStore } => ({
          model: { books: emptyBooks(), nowMs: setup.clock.now() },
          real: { setup, partition },
        });
        await fc.asyncModelRun(init, drawn);
      } finally {
        await setup.cleanup?.();
      }
    }),
    { seed, numRuns: runs },
  );
}

const subjects = ['a', 'b', 'c'] as const;
const periods = ['', '2026-11'] as const;
const leases = [100_000, 200_000, 500_000] as const;

/** Just before the end of a lease, at its end, and after it. */
const waits = [1, 99_999, 100_000, 400_000] as const;

/** Ids include the run's partition, because an id must be unique in all partitions. */
const id = fc.integer({ min: 1, max: 8 }).map((number) => `reservation-${number}-`);
const amount = fc.bigInt({ min: 0n, max: 40n });
const lines: fc.Arbitrary<readonly QuotaLine[]> = fc
  .subarray([...subjects], { minLength: 1 })
  .chain((chosen) =>
    fc.tuple(
      ...chosen.map((subject) =>
        fc.record({ subject: fc.constant(subject), period: fc.constantFrom(...periods), amount }),
      ),
    ),
  );

const reserve: fc.Arbitrary<Draft> = fc
  .record({
    id,
    lines,
    ttlMs: fc.constantFrom(...leases),
    charges: fc.boolean(),
    cap: fc.constantFrom(undefined, undefined, 1, 2),
    limits: fc.constantFrom(undefined, [60n, 60n], [60n, 60n], [60n, 20n], [100n, 60n]),
  })
  .map(({ id, lines, ttlMs, charges, cap, limits }) => (partition) => ({
    op: 'reserve',
    input: {
      id: id + partition,
      partition,
      ttlMs,
      lines: lines.map((line, index) => withLimit(line, limits?.[index % 2])),
      onExpire: charges ? { charge: lines.map((line) => line.amount / 2n) } : 'release',
      ...(cap === undefined ? {} : { maxConcurrentCalls: lines.map(() => cap) }),
    },
  }));

const extend: fc.Arbitrary<Draft> = fc
  .array(
    fc.record({
      id,
      ttlMs: fc.constantFrom(...leases),
      add: fc.constantFrom(undefined, 0n, 5n, 30n),
      idle: fc.constantFrom(undefined, undefined, false, true),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((inputs) => (partition, books) => ({
    op: 'extend',
    input: inputs.map(({ id, ttlMs, add, idle }): ExtendInput => {
      const given = idle === undefined ? {} : { idle };
      const input = { id: id + partition, partition, ttlMs, ...given };
      // An extend has one amount for each line; their number is known only when the command runs.
      const lines = books.holds.get(input.id)?.lines ?? [];
      return add === undefined || lines.length === 0
        ? input
        : { ...input, add: lines.map(() => add) };
    }),
  }));

const settle: fc.Arbitrary<Draft> = fc
  .record({ id, lines })
  .map(({ id, lines }) => (partition) => ({
    op: 'settle',
    input: { id: id + partition, partition, lines, basis: 'usage' },
  }));

const release: fc.Arbitrary<Draft> = fc
  .record({ id, lines })
  .map(({ id, lines }) => (partition) => ({
    op: 'release',
    input: { id: id + partition, partition, lines },
  }));

const adjust: fc.Arbitrary<Draft> = fc
  .record({
    number: fc.integer({ min: 1, max: 4 }),
    subject: fc.constantFrom(...subjects),
    change: fc.oneof(
      fc.record({ limit: fc.bigInt({ min: 0n, max: 120n }) }),
      fc.record({ addLimit: fc.bigInt({ min: -60n, max: 60n }) }),
      fc.record({ enabled: fc.boolean() }),
    ),
  })
  .map(({ number, subject, change }) => (partition) => ({
    op: 'adjust',
    input: {
      id: `adjustment-${subject}-${number}-${partition}`,
      ...{ partition, subject, period: '', ...change },
    },
  }));

const sweep: fc.Arbitrary<Draft> = fc.constant((partition) => ({
  op: 'sweep',
  // Stores may choose which leases a bounded sweep expires first, so the sweeps have no bound.
  input: { max: 1_000, partition },
}));

const wait: fc.Arbitrary<Draft> = fc.constantFrom(...waits).map((waitMs) => () => ({ waitMs }));

/** Runs the operation on the store and the model, and asserts equal results and equal rows. */
function commandOf(draft: Draft): Command {
  let text = 'not run';
  return {
    check: () => true,
    run: async (model, { setup, partition }) => {
      const step = draft(partition, model.books);
      text = comparable(step, true);
      if ('waitMs' in step) {
        model.nowMs += step.waitMs;
        await setup.clock.advance(step.waitMs);
        return;
      }
      const insist = async (operation: Operation): Promise<void> => {
        const { books, answer } = apply(model.books, operation, model.nowMs);
        const own = await send(setup.store, operation);
        assert.equal(comparable(own, true), comparable(answer, true));
        model.books = books;
      };
      await insist(step);
      for (const row of rowsOf(partition)) await insist({ op: 'read', input: row });
    },
    toString: () => text,
  };
}

function withLimit(line: QuotaLine, limit: bigint | undefined): QuotaLine {
  return limit === undefined ? line : { ...line, limit };
}

function rowsOf(
  partition: string,
): readonly { readonly subject: string; readonly period: string; readonly partition: string }[] {
  return subjects.flatMap((subject) => periods.map((period) => ({ subject, period, partition })));
}

const commands: readonly fc.Arbitrary<Command>[] = [
  ...[reserve, reserve, extend, settle, release, adjust, sweep, wait],
].map((drafts) => drafts.map(commandOf));
