/** What the proofs ask of a store that they prove, and the reference among the stores. */
import type { MaybePromise } from '../../src/ports/call-options.ts';
import type { QuotaStore } from '../../src/ports/quota-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import type { QuotaStoreSetup } from '../../src/testing/contracts/quota/case-context.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { distant } from './wrong-stores.ts';

/** A fresh store, or a fresh view of one. */
export interface ProofSetup extends QuotaStoreSetup {
  /** The store's own clock, which stands still but for `advance`. */
  readonly clock: { now(): number; advance(ms: number): MaybePromise<void> };
  /** The same books through several doors, as several processes have them. */
  readonly connections: readonly QuotaStore[];
}

/** A store and how to make it. */
export interface StoreUnderTest {
  readonly name: string;
  /** Each proof has a partition and ids of its own: what is made may share a database. */
  make(): MaybePromise<ProofSetup>;
}

/** One process, one door; what is asked and what is answered takes a while to arrive. */
export const memoryUnderTest: StoreUnderTest = {
  name: 'memory',
  make: () => {
    const clock = fakeClock();
    const store = memoryQuotaStore({ clock });
    return { store, clock, connections: [distant(store, 1)] };
  },
};
