/** What a contract is made of: cases that any test runner can run, or none. */

/**
 * One promise of a port, proved by running it. Cases are independent: each makes what it needs.
 *
 * ```ts
 * for (const { name, run } of quotaStoreContract(make)) it(name, run);
 * ```
 */
export interface ContractCase {
  /** A sentence about behaviour; for quota it begins with the number of the case, `QS-10`. */
  readonly name: string;
  /** Rejects with an `AssertionError` where the promise is not kept. */
  run(): Promise<void>;
}
