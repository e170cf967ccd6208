/**
 * The contract of `QuotaStore`: every guarantee that can be tested in one process without network
 * failures.
 */
import type { ContractCase } from './contract-case.ts';
import { overSetups } from './over-setups.ts';
import { admissionCases } from './quota/admission.ts';
import { basicCases } from './quota/basics.ts';
import type { MakeQuotaStore } from './quota/case-context.ts';
import { caseContext } from './quota/case-context.ts';
import { idempotenceCases } from './quota/idempotence.ts';
import { idleCases } from './quota/idle.ts';
import { leaseCases } from './quota/lease.ts';
import { limitCases } from './quota/limits.ts';
import { numberCases } from './quota/numbers.ts';
import { observationCases } from './quota/observation.ts';

/**
 * The cases of the quota contract, for your own store. `make` is called once per case; stores may
 * share a database, since each case uses a new partition and new ids.
 */
export function quotaStoreContract(make: MakeQuotaStore): readonly ContractCase[] {
  const cases = [
    ...basicCases,
    ...admissionCases,
    ...idempotenceCases,
    ...leaseCases,
    ...numberCases,
    ...observationCases,
    ...limitCases,
    ...idleCases,
  ];
  return overSetups(cases, make, caseContext);
}
