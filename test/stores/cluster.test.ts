// suite: slow host
/** The cluster stores in memory and in SQLite, and gateways over them. */
import { describe } from 'vitest';
import { memoryClusterStore } from '../../src/stores/memory/cluster-store.ts';
import { sqliteClusterStore } from '../../src/stores/sqlite/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { agreementCases, type ClusterTables, clusterStoreCases } from './cluster-cases.ts';
import { fileKinds, type Scratch, scratch } from './sqlite/handles.ts';

function inMemory(): ClusterTables {
  const clock = fakeClock();
  const store = memoryClusterStore({ clock });
  return { newStore: () => store, advance: clock.advance };
}

describe('in memory', () => {
  clusterStoreCases(inMemory);
  agreementCases(inMemory, 40);
});

describe.each(fileKinds)('over $name', (kind) => {
  let shared: Scratch | undefined;
  const emptied = (): ClusterTables => {
    shared ??= scratch(kind);
    const { db, again } = shared;
    for (const table of ['tollgate_replica', 'tollgate_switch']) db.exec(`DELETE FROM ${table}`);
    const clock = fakeClock();
    return {
      newStore: () => sqliteClusterStore({ client: again(), clock }),
      advance: clock.advance,
    };
  };
  clusterStoreCases(emptied);
  agreementCases(emptied, 8);
});
