/**
 * The contract of `QuotaStore`: every guarantee that can be tested in one process without network
 * failures.
 */
import { type ContractCase, overSetups } from './contract-case.ts';
import { basicCases, observationCases } from './quota/basics.ts';
import { caseContext, type MakeQuotaStore } from './quota/case-context.ts';
import { idempotenceCases } from './quota/idempotence.ts';
import { idleCases } from './quota/idle.ts';
import { leaseCases } from './quota/lease.ts';
import { admissionCases, limitCases } from './quota/limits.ts';
import { numberCases } from './quota/numbers.ts';

/**
 * The cases of the quota contract, for your own store. `make` is called once per case; stores may
 * share a database, since each case uses a new partition and new ids.
 */
export function quotaStoreContract(make: MakeQuotaStore): readonly ContractCase[] {
  const cases = {
    ...basicCases,
    ...admissionCases,
    ...idempotenceCases,
    ...leaseCases,
    ...numberCases,
    ...observationCases,
    ...limitCases,
    ...idleCases,
  };
  return overSetups(cases, make, caseContext);
}
