/**
 * The contract of `RateLimiter`: grants never exceed the limits, all amounts of a call are taken or
 * none, waits are exact, and corrections keep buckets between empty and full.
 */
import type { MaybePromise } from '../../ports/call-options.ts';
import type { ContractCase } from './contract-case.ts';
import { overSetups } from './over-setups.ts';
import { adjustCases } from './rates/adjusts.ts';
import type { RateLimiterSetup } from './rates/rate-case.ts';
import { takeCases } from './rates/takes.ts';

/**
 * The cases of the rate limiter contract. `make` is called once per case; limiters may share a
 * store, since each case uses new owners.
 */
export function rateLimiterContract(
  make: () => MaybePromise<RateLimiterSetup>,
): readonly ContractCase[] {
  return overSetups([...takeCases, ...adjustCases], make, (setup) => setup);
}
