/**
 * What a host does with a quota store of its own: writes it, and runs the published contract on it.
 */
import { describe, it } from 'vitest';
import { quotaStoreContract } from '../../src/testing/contracts/quota-store.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { simpleQuotaStore } from './simple-quota-store.ts';

describe('a third-party store is proved with the published contract', () => {
  const contract = quotaStoreContract(() => {
    const clock = fakeClock();
    return { store: simpleQuotaStore(clock), clock };
  });
  for (const { name, run } of contract) it(name, run);
});
