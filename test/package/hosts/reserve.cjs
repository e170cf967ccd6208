/** Opens a database in threads, reserves in it and prints what came of it. */
module.exports = async function reserve(sqlite, options) {
  const client = await sqlite.openSqlite(`${process.cwd()}/threads.db`, options);
  await sqlite.migrateSqlite(client);
  const { status } = await sqlite.sqliteQuotaStore({ client }).reserve({
    id: `reservation-${process.hrtime.bigint()}`,
    partition: 'default',
    lines: [{ subject: 'alice', period: '', amount: 1n, limit: 1_000_000n }],
    ttlMs: 30_000,
    onExpire: 'release',
  });
  await client.close();
  return status;
};
