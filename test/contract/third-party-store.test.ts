// suite: slow
/**
 * How a host tests its own quota store: with the published contract.
 */
import { describe, it } from 'vitest';
import { quotaStoreContract } from '../../src/testing/contracts/quota-store.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { simpleQuotaStore } from './simple-quota-store.ts';

describe('a third-party store fulfils the published contract', () => {
  const contract = quotaStoreContract(() => {
    const clock = fakeClock();
    return { store: simpleQuotaStore(clock), clock };
  });
  for (const { name, run } of contract) it(name, run);
});
