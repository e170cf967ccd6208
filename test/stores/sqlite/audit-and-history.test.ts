// suite: slow host
/** The audit trail and the history of the catalog in SQLite. */
import { describe, onTestFinished } from 'vitest';
import { sqliteAuditLog, sqliteCatalog } from '../../../src/stores/sqlite/index.ts';
import { auditLogCases } from '../audit-cases.ts';
import { catalogHistoryCases } from '../catalog-cases.ts';
import { fileKinds, scratch } from './handles.ts';

describe.each(fileKinds)('over $name', (kind) => {
  describe('sqliteAuditLog', () => {
    auditLogCases(() => {
      const { db, cleanup } = scratch(kind);
      onTestFinished(cleanup);
      return sqliteAuditLog({ client: db });
    });
  });

  describe('the history of sqliteCatalog', () => {
    catalogHistoryCases(async () => {
      const { db, again, cleanup } = scratch(kind);
      onTestFinished(cleanup);
      const options = { credentials: () => 'secret' };
      const here = await sqliteCatalog({ client: db, ...options });
      return [here, await sqliteCatalog({ client: again(), ...options })];
    });
  });
});
