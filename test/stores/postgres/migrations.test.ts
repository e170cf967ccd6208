// suite: services
/** The PostgreSQL schema: created once, by the first process, and reported when missing. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migratePostgres, postgresMigrations } from '../../../src/stores/postgres/migrations.ts';
import { postgresQuotaStore } from '../../../src/stores/postgres/quota-store.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import { addLater } from './schema.ts';

it('migrations are numbered from 1 without gaps; each is one statement with a lock', () => {
  expect(postgresMigrations.map(({ version }) => version)).toEqual(
    postgresMigrations.map((_, index) => index + 1),
  );
  for (const { version, sql } of postgresMigrations) {
    expect(sql).toMatch(/^\nDO \$migration\$ BEGIN\nPERFORM pg_advisory_xact_lock/);
    expect(sql).toContain(`schema_versions (version) VALUES (${version});`);
    expect(sql).toMatch(/END \$migration\$$/);
  }
});

describe.skipIf(!hasPostgres())('migratePostgres', () => {
  let server: PostgresServer;

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  it('check says what to run if the schema is missing or has another version', async () => {
    const pool = server.pool();
    const store = postgresQuotaStore({ client: pool, schema: 'first' });
    expect(await store.check()).toEqual({
      ok: false,
      problems: ['The tables are missing. Run migratePostgres(client) before the gateway starts.'],
    });
    await migratePostgres(pool, { schema: 'first' });
    expect(await store.check()).toEqual({ ok: true });

    await pool.query('DELETE FROM first.schema_versions WHERE version > 8');

    expect(await store.check()).toEqual({
      ok: false,
      problems: [
        `The schema has version 8, this package has ${postgresMigrations.length}. ` +
          'Run migratePostgres(client) before the gateway starts.',
      ],
    });
  });

  it('a schema that a newer version has changed is refused, and not touched', async () => {
    const pool = server.pool();
    await migratePostgres(pool, { schema: 'changed' });
    await pool.query(
      'INSERT INTO changed.schema_versions (version, oldest_compatible) VALUES (99, 98)',
    );
    const problem =
      'The schema has version 99, which only packages of schema version 98 or later can use. ' +
      `This package has version ${postgresMigrations.length}: update it.`;

    expect(await postgresQuotaStore({ client: pool, schema: 'changed' }).check()).toEqual({
      ok: false,
      problems: [problem],
    });
    await expect(migratePostgres(pool, { schema: 'changed' })).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: `migratePostgres: ${problem}`,
    });
  });

  it('a schema to which a newer version has only added can be used and migrated', async () => {
    const pool = server.pool();
    await migratePostgres(pool, { schema: 'added' });
    await addLater(pool, 'added');

    await migratePostgres(pool, { schema: 'added' });

    expect(await postgresQuotaStore({ client: pool, schema: 'added' }).check()).toEqual({
      ok: true,
    });
  });

  it('a schema of version 8 is brought up to date with its rows', async () => {
    const client = server.pool();
    for (const { sql } of postgresMigrations.slice(0, 8)) {
      await client.query(sql.replaceAll('"tollgate"', '"eight"'));
    }
    const store = postgresQuotaStore({ client, schema: 'eight' });
    const row = { subject: 'alice', period: '', partition: 'p' };
    await store.adjust({ ...row, id: 'adjustment_00001', limit: 7n });

    await migratePostgres(client, { schema: 'eight' });

    expect(await store.check()).toEqual({ ok: true });
    expect(await store.read('alice', '', 'p')).toMatchObject({ limit: 7n });
  });

  it('tables of a version before the first release are recognized by their columns', async () => {
    const pool = server.pool();
    await migratePostgres(pool, { schema: 'early' });
    await pool.query('ALTER TABLE early.quota_rows DROP COLUMN extra_nanos');

    const sentence = expect.stringContaining('a version before the first release');
    expect(await postgresQuotaStore({ client: pool, schema: 'early' }).check()).toEqual({
      ok: false,
      problems: [sentence],
    });
    await expect(migratePostgres(pool, { schema: 'early' })).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: sentence,
    });
  });

  it('eight concurrent processes create one schema', async () => {
    const pools = Array.from({ length: 8 }, () => server.pool(1));

    await Promise.all(pools.map((client) => migratePostgres(client, { schema: 'together' })));

    const { rows } = await server
      .pool(1)
      .query('SELECT version FROM together.schema_versions ORDER BY version');
    expect(rows).toEqual(postgresMigrations.map(({ version }) => ({ version })));
  });

  it('a second migration changes nothing', async () => {
    const client = server.pool();
    await migratePostgres(client, { schema: 'again' });
    const store = postgresQuotaStore({ client, schema: 'again' });
    const row = { subject: 'alice', period: '', partition: 'p' };
    await store.adjust({ ...row, id: 'adjustment_00001', limit: 7n });

    await migratePostgres(client, { schema: 'again' });

    expect(await store.read('alice', '', 'p')).toMatchObject({ limit: 7n });
  });

  it('a role that may not create schemas can migrate an existing one', async () => {
    const admin = server.pool(1);
    await admin.query('CREATE ROLE guest LOGIN');
    await admin.query('CREATE SCHEMA given AUTHORIZATION guest');
    const client = server.pool(1);
    await client.query('SET ROLE guest');

    await migratePostgres(client, { schema: 'given' });

    expect(await postgresQuotaStore({ client, schema: 'given' }).check()).toEqual({ ok: true });
  });
});
