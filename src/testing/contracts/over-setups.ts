/** Runs the cases of a contract, each over a new setup. */
import type { MaybePromise } from '../../ports/call-options.ts';
import type { ContractCase } from './contract-case.ts';

/** A setup that may hold resources, such as a connection. */
export interface Cleanable {
  /** Called after the case, whether it passed or failed. */
  cleanup?(): MaybePromise<void>;
}

/** A case before it is bound to a setup. */
export interface SubjectCase<Subject> {
  readonly name: string;
  readonly run: (subject: Subject) => Promise<void>;
}

export function rule<Subject>(
  name: string,
  run: (subject: Subject) => Promise<void>,
): SubjectCase<Subject> {
  return { name, run };
}

/** Binds the cases: each calls `make`, runs on the subject in that setup, and cleans up. */
export function overSetups<Setup extends Cleanable, Subject>(
  cases: readonly SubjectCase<Subject>[],
  make: () => MaybePromise<Setup>,
  subjectOf: (setup: Setup) => Subject,
): readonly ContractCase[] {
  return cases.map(({ name, run }) => ({
    name,
    run: async () => {
      const setup = await make();
      try {
        await run(subjectOf(setup));
      } finally {
        await setup.cleanup?.();
      }
    },
  }));
}
