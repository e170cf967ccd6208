/**
 * A process that opens a database in a thread and reserves. It then closes nothing, or closes while
 * the reserve is on its way, and prints what came of it.
 */
import { migrateSqlite, openSqlite, sqliteQuotaStore } from '../../../src/stores/sqlite/index.ts';

const [, , path = '', workerUrl = '', closes] = process.argv;
const client = await openSqlite(path, { driver: 'libsql', workerUrl: new URL(workerUrl) });
await migrateSqlite(client);
const reserving = sqliteQuotaStore({ client }).reserve({
  id: 'a-reservation-of-the-script',
  partition: 'default',
  lines: [{ subject: 'alice', period: '', amount: 1n, limit: 10n }],
  ttlMs: 30_000,
  onExpire: 'release',
});
if (closes === 'closes') await client.close();
process.stdout.write(`${(await reserving).status}\n`);
