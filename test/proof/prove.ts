/**
 * The two proofs that every quota store must pass. By default few cases run, the same each time;
 * `PROOF_TIMES` multiplies them and `PROOF_SEED` seeds them, for long runs.
 */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { QuotaStore } from '../../src/ports/limits/quota-store.ts';
import { recordHistory } from './histories.ts';
import { judge, type Verdict } from './linearisable.ts';
import { agreesWithModel } from './model-commands.ts';
import { emptyBooks } from './quota-model.ts';
import type { StoreUnderTest } from './stores-under-test.ts';

const times = Number(process.env.PROOF_TIMES ?? 1);
const seed = Number(process.env.PROOF_SEED ?? 20_261_120);

/** The time limit of one proof, on a shared machine. */
export const proofMs: number = 60_000 * times;

/** How many operations a store gets in one run of the tests. */
export interface Amount {
  /** Sequences that are compared with the model. */
  readonly sequences: number;
  readonly histories: number;
}

/** Declares the proofs of one store. */
export function proveQuotaStore(under: StoreUnderTest, { sequences, histories }: Amount): void {
  it(
    `${under.name} answers every sequence as the model does`,
    async () => {
      await agreesWithModel(under, { seed, runs: sequences * times });
    },
    proofMs,
  );

  it.each([
    ['every answer is heard', 0],
    ['some answers get lost', 3],
  ])(
    `${under.name} is linearisable where %s`,
    async (_how, lostPercent) => {
      for (let round = 0; round < histories * times; round += 1) {
        const setup = await under.make();
        try {
          const verdict = await judged(setup.connections, seed + round, lostPercent);
          expect(verdict, `seed ${seed + round}`).toMatchObject({ isLinearisable: true });
        } finally {
          await setup.cleanup?.();
        }
      }
    },
    proofMs,
  );
}

/** Runs thirty operations of each of eight clients, and checks the history. */
export async function judged(
  stores: readonly QuotaStore[],
  ownSeed: number,
  lostPercent: number,
): Promise<Verdict> {
  const partition = `history-${randomUUID().slice(0, 8)}`;
  const plan = { seed: ownSeed, partition, lostPercent, clients: 8, operationsEach: 30 };
  return judge(await recordHistory(stores, plan), emptyBooks());
}
