/** Runs each case of a contract with a new setup. */
import type { MaybePromise } from '../../ports/call-options.ts';
import type { ContractCase } from './contract-case.ts';

/** A setup that can be cleaned up. */
export interface Cleanable {
  /** Called when the case is over, whether it passed or failed. */
  cleanup?(): MaybePromise<void>;
}

/** A case that takes its setup as a parameter. */
export interface SetupCase<Setup> {
  readonly name: string;
  readonly run: (setup: Setup) => Promise<void>;
}

/** Calls `make` once for each case, and cleans up however the case ends. */
export function overSetups<Setup extends Cleanable>(
  cases: readonly SetupCase<Setup>[],
  make: () => MaybePromise<Setup>,
): readonly ContractCase[] {
  return cases.map(({ name, run }) => ({
    name,
    run: async () => {
      const setup = await make();
      try {
        await run(setup);
      } finally {
        await setup.cleanup?.();
      }
    },
  }));
}
