/** The cases of a contract, which run with any test runner or without one. */

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
