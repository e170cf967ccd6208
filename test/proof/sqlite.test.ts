// suite: search
/** The quota store of SQLite, over each driver, with several handles on one file. */
import { sqliteQuotaStore } from '../../src/stores/sqlite/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { kinds, scratch } from '../stores/sqlite/handles.ts';
import { proveQuotaStore } from './prove.ts';
import { distant } from './wrong-stores.ts';

for (const kind of kinds) {
  const make = () => {
    const { db, again, cleanup } = scratch(kind);
    const clock = fakeClock();
    const handles = kind.inFile ? [db, again(), again()] : [db];
    const connections = handles.map((handle, index) =>
      distant(sqliteQuotaStore({ client: handle, clock }), index),
    );
    return {
      store: sqliteQuotaStore({ client: db, clock }),
      clock,
      connections: connections,
      cleanup,
    };
  };
  proveQuotaStore({ name: kind.name, make }, { sequences: kind.inFile ? 20 : 100, histories: 3 });
}
