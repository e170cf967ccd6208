/**
 * The two proofs that every quota store has to pass, and how much of them: the same few at each run
 * of the tests, and as many as `PROOF_TIMES` says, from the seed `PROOF_SEED`, for a night.
 */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { QuotaStore } from '../../src/ports/quota-store.ts';
import { recordHistory } from './histories.ts';
import { judge, type Verdict } from './linearisable.ts';
import { agreesWithModel } from './model-commands.ts';
import { emptyBooks } from './quota-model.ts';
import type { StoreUnderTest } from './stores-under-test.ts';

const times = Number(process.env.PROOF_TIMES ?? 1);
const seed = Number(process.env.PROOF_SEED ?? 20_261_120);

/** How long one proof may take, on a machine that is shared. */
export const proofMs: number = 60_000 * times;

/** How much a store is asked in one run of the tests. */
export interface Amount {
  /** Sequences of the model. */
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

/** Eight clients ask these stores thirty things each, and the answers are judged. */
export async function judged(
  stores: readonly QuotaStore[],
  ownSeed: number,
  lostPercent: number,
): Promise<Verdict> {
  const partition = `history-${randomUUID().slice(0, 8)}`;
  const plan = { seed: ownSeed, partition, lostPercent, clients: 8, operationsEach: 30 };
  return judge(await recordHistory(stores, plan), emptyBooks());
}
