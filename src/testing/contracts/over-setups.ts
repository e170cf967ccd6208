/** Runs the cases of a contract, each over a setup of its own. */
import type { MaybePromise } from '../../ports/call-options.ts';
import type { ContractCase } from './contract-case.ts';

/** What a case needs to be run again elsewhere: what it is about, and how to clean up behind it. */
export interface Cleanable {
  /** Called when the case is over, whether it passed or failed. */
  cleanup?(): MaybePromise<void>;
}

/** A case before it has a setup to run over. */
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
