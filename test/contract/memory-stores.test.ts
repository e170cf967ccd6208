// suite: quick
/** The stores for one process fulfil the published contracts. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import { jsonlUsageSink } from '../../src/stores/jsonl/usage-sink.ts';
import { memoryKeyStore } from '../../src/stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { memoryUsageSink } from '../../src/stores/memory/usage-sink.ts';
import { catalogContract } from '../../src/testing/contracts/catalog.ts';
import { keyStoreContract } from '../../src/testing/contracts/key-store.ts';
import { quotaStoreContract } from '../../src/testing/contracts/quota-store.ts';
import type { StoredUsage, UsageSinkSetup } from '../../src/testing/contracts/usage-sink.ts';
import { usageSinkContract } from '../../src/testing/contracts/usage-sink.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

describe('memoryQuotaStore', () => {
  const contract = quotaStoreContract(() => {
    const clock = fakeClock();
    return { store: memoryQuotaStore({ clock }), clock };
  });
  for (const { name, run } of contract) it(name, run);
});

describe.each([undefined, 'a pepper'])('memoryKeyStore with pepper %s', (pepper) => {
  const contract = keyStoreContract(() => {
    const store = memoryKeyStore(pepper === undefined ? {} : { pepper });
    return { store, put: store.add, owners: store.owners };
  });
  for (const { name, run } of contract) it(name, run);
});

describe('staticCatalog', () => {
  const contract = catalogContract((models) => ({ catalog: staticCatalog(models) }));
  for (const { name, run } of contract) it(name, run);
});

describe('memoryUsageSink', () => {
  const contract = usageSinkContract(() => {
    const sink = memoryUsageSink();
    return { sink, stored: () => sink.records };
  });
  for (const { name, run } of contract) it(name, run);
});

describe('jsonlUsageSink', () => {
  for (const { name, run } of usageSinkContract(jsonlSetup)) it(name, run);
});

async function jsonlSetup(): Promise<UsageSinkSetup> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-usage-'));
  const path = join(folder, 'usage.jsonl');
  return {
    sink: jsonlUsageSink({ path }),
    stored: async () => {
      const text = await readFile(path, 'utf8').catch(() => '');
      return text.split('\n').filter(Boolean).map(revive);
    },
    cleanup: () => rm(folder, { recursive: true }),
  };
}

function revive(line: string): StoredUsage {
  const record = JSON.parse(line);
  const { heldNanos, chargeNanos } = record;
  return { ...record, heldNanos: BigInt(heldNanos), chargeNanos: BigInt(chargeNanos) };
}
