// suite: slow host
/** Reports and the deletion of old records over SQLite. */
import { describe, onTestFinished } from 'vitest';
import { sqliteUsageSink } from '../../../src/stores/sqlite/index.ts';
import { refusalTableCases } from '../refusal-cases.ts';
import { usageCases } from '../usage-cases.ts';
import { kinds, scratch } from './handles.ts';

describe.each(kinds)('over $name', (kind) => {
  const open = () => {
    const { db, cleanup } = scratch(kind);
    onTestFinished(cleanup);
    return sqliteUsageSink({ client: db });
  };
  usageCases(open);
  refusalTableCases(open);
});
