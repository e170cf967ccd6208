/**
 * What all contracts share: the form of their cases, which run with any test runner or without one,
 * and the setups over which they run.
 */
import assert from 'node:assert/strict';
import type { MaybePromise } from '../../ports/call-options.ts';

/**
 * One guarantee of a port, as a test. Cases are independent of each other.
 *
 * ```ts
 * for (const { name, run } of quotaStoreContract(make)) it(name, run);
 * ```
 */
export interface ContractCase {
  /**
   * A sentence about behaviour, in most contracts after the number of the case, such as `QS-10`.
   */
  readonly name: string;
  /** Rejects with an `AssertionError` where the guarantee does not hold. */
  run(): Promise<void>;
}

/** A setup that may hold resources, such as a connection. */
export interface Cleanable {
  /** Called after the case, whether it passed or failed. */
  cleanup?(): MaybePromise<void>;
}

/** Cases by their names, before they are bound to setups. */
export type Cases<Subject> = Readonly<Record<string, (subject: Subject) => Promise<void>>>;

/** Binds the cases: each calls `make`, runs on the subject in that setup, and cleans up. */
export function overSetups<Setup extends Cleanable, Subject>(
  cases: Cases<Subject>,
  make: () => MaybePromise<Setup>,
  subjectOf: (setup: Setup) => Subject,
): readonly ContractCase[] {
  return Object.entries(cases).map(([name, run]) => ({
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

/** More batches than any case needs: a store that never returns 0 fails. */
const maxBatches = 1_000;

/** How many were forgotten until a batch returned 0. */
export async function forgetAll(forgetSome: () => Promise<number>): Promise<number> {
  let sum = 0;
  for (let batch = 0; batch < maxBatches; batch += 1) {
    const count = await forgetSome();
    if (count === 0) return sum;
    sum += count;
  }
  return assert.fail('forgetOwner never returned 0');
}

const printable = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index));

/**
 * Every printable character alone and at each place of an id, and what a store might take for a
 * separator, a hash tag of a cluster, an escape, a pattern, a quotation, a number or a member that
 * objects inherit. Many begin with others, and some differ only in case.
 */
export const everyId: readonly string[] = [
  ...new Set([
    ...printable.flatMap((one) => [one, `a${one}`, `${one}a`, `a${one}a`]),
    ...['auth0|5f7c', 'user-7@example.com', 'a|b', 'a%7Cb', 'a%257Cb', 'a||', '{a}', '{}a', '}{'],
    ...['a|2026-11', 'a:b', "a'--", 'a\\n', '$1', '%25', '"],["', '\\x7c', '[a-z]', '?*'],
    ...['constructor', '__proto__', 'toString', 'null', 'true', '1', '01', '1.0', '1e0', '-1'],
    ...['Ada', 'ADA', 'ada', 'A'.repeat(64), printable.join('').padEnd(128, 'x')],
  ]),
];
