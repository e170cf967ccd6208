/** What the proofs need to know about a store, and the memory store as the reference. */
import type { MaybePromise } from '../../src/ports/call-options.ts';
import type { QuotaStore } from '../../src/ports/limits/quota-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import type { QuotaStoreSetup } from '../../src/testing/contracts/quota/case-context.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { distant } from './wrong-stores.ts';

/** A new store, or a new connection to one. */
export interface ProofSetup extends QuotaStoreSetup {
  /** The store's clock, which changes only by `advance`. */
  readonly clock: { now(): number; advance(ms: number): MaybePromise<void> };
  /** Several connections to the same data, as several processes have them. */
  readonly connections: readonly QuotaStore[];
}

/** A store, and how it is created. */
export interface StoreUnderTest {
  readonly name: string;
  /** Each proof uses its own partition and ids, so the stores may share a database. */
  make(): MaybePromise<ProofSetup>;
}

/** One process with one connection; requests and replies take a few turns to arrive. */
export const memoryUnderTest: StoreUnderTest = {
  name: 'memory',
  make: () => {
    const clock = fakeClock();
    const store = memoryQuotaStore({ clock });
    return { store, clock, connections: [distant(store, 1)] };
  },
};
