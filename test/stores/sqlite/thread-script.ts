/** A process that opens a database in a thread, reserves, prints the result and closes nothing. */
import { openSqlite, sqliteQuotaStore } from '../../../src/stores/sqlite/index.ts';

const [, , path = '', workerUrl = ''] = process.argv;
const client = await openSqlite(path, { driver: 'libsql', workerUrl: new URL(workerUrl) });
const { status } = await sqliteQuotaStore({ client }).reserve({
  id: 'a-reservation-of-the-script',
  partition: 'default',
  lines: [{ subject: 'alice', period: '', amount: 1n, limit: 10n }],
  ttlMs: 30_000,
  onExpire: 'release',
});
process.stdout.write(`${status}\n`);
