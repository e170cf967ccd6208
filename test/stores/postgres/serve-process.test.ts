// suite: services
/** `tollgate` over PostgreSQL: migrate, issue, serve, drain during a stream, report. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { gate } from '../../../src/testing/providers/scripts.ts';
import {
  chat,
  modelAt,
  newFolder,
  ran,
  served,
  waitingStream,
  waitingStreamCharge,
  writeConfig,
} from '../../command/serve/served.ts';
import { startStrictUpstream } from '../../providers/strict-upstream.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import { build } from '../../support/built.ts';

const env = { KEY: 'the-account-key', PEPPER: 'the-pepper' };

/** Only in the services suite: starting processes takes a second each. */
const isSkipped = process.env.REQUIRE_SERVICES !== '1' || !hasPostgres();

describe.skipIf(isSkipped)('tollgate over PostgreSQL', () => {
  let server: PostgresServer | undefined;

  beforeAll(async () => {
    await build();
    server = await startPostgres();
  });
  afterAll(() => server?.stop());

  it('migrates, issues a key, and charges a stream once that ends after SIGTERM', async () => {
    const upstream = await startStrictUpstream();
    onTestFinished(() => upstream.close());
    const folder = newFolder();
    const { host = '', user = '', database = '' } = server?.connection ?? {};
    writeConfig(folder, {
      listen: { port: 0, host: '127.0.0.1' },
      stores: { postgres: { url: `postgres://${user}@localhost/${database}?host=${host}` } },
      keys: { pepper: ['${', 'PEPPER}'].join('') },
      catalog: { models: [modelAt(upstream.openaiBaseUrl)] },
    });
    const run = (...args: readonly string[]) => ran(folder, args, env);
    const unready = await run('check');
    const migrated = await run('migrate');
    const secret = (await run('keys', 'issue', '--group', 'staff', '--limit', '5', '--id', 'ada'))
      .out;
    const { origin, child, until, exited } = await served(folder, env);
    const held = gate();
    upstream.enqueue(waitingStream(held.opened));

    const answer = await chat(origin, secret.trim(), { stream: true });
    child.kill('SIGTERM');
    await until('ending');
    held.open();
    const text = await answer.text();
    const code = await exited;
    const report = JSON.parse((await run('usage', '--by', 'key', '--json')).out);
    const checked = await run('check');

    expect(unready.out).toMatch(/^failed +stores\.postgres: .*npx tollgate migrate/m);
    expect(migrated.code).toBe(0);
    expect(text).toMatch(/data: \[DONE\]\n\n$/);
    expect(code).toBe(0);
    expect(report.data).toMatchObject([
      { names: ['ada'], calls: 1, chargeNanos: waitingStreamCharge },
    ]);
    expect(checked.out.match(/^ok +stores\.postgres/gm)).toHaveLength(2);
  });
});
