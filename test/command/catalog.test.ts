// suite: slow host
/** `tollgate catalog …` and `audit`: versions in a database, and who changed what. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { commandFolder } from './called.ts';
import { modelAt } from './serve/served.ts';

const env = { KEY: 'the-account-key' };

/** A folder whose catalog is in SQLite, and a function that writes a file of models. */
function folder() {
  // References in models are read from the environment of the process.
  vi.stubEnv('KEY', 'the-account-key');
  const host = commandFolder({ env, user: 'ada' });
  host.write({
    catalog: { store: 'sqlite' },
    stores: { sqlite: { path: './tollgate.db' } },
  });
  const model = (id: string, input: string): object => ({
    ...modelAt('http://127.0.0.1:9/v1'),
    id,
    price: { per: 'token', input, output: '2' },
    channels: [
      {
        ...{ id: 'a', dialect: 'openai', baseUrl: 'https://a.example/v1/path-of-the-account' },
        credential: { env: 'KEY' },
        headers: { 'x-account': 'header-of-the-account' },
      },
    ],
  });
  const models = (...list: readonly object[]): void => host.write({ models: list }, 'models.json');
  return { ...host, model, models };
}

it('publishes a file, shows what changes, and goes back', async () => {
  const { call, model, models } = folder();
  models(model('gpt', '1'), model('o3', '1'));
  const first = await call('catalog', 'publish', 'models.json', '--note', 'the first');
  models(model('gpt', '1.5'), model('o3', '1'));
  const preview = await call('catalog', 'diff', 'models.json');
  const second = await call('catalog', 'publish', 'models.json', '--actor', 'bob');
  const back = await call('catalog', 'rollback', '1');
  const history = await call('catalog', 'history');
  const { data } = JSON.parse((await call('catalog', 'history', '--json')).out);

  expect(first).toMatchObject({ code: 0 });
  expect(first.out).toContain('Published version 1.');
  expect(preview.out).toMatch(/~ +gpt +price\.input +1 +1\.5/);
  expect(second.out).toContain('Published version 2.');
  expect(back.out).toContain('Published version 3.');
  expect(history.out).toMatch(/3 .* ada +gpt price\.input 1\.5 → 1 +rollback to version 1/);
  expect(data).toMatchObject([
    { version: 3, actor: 'ada' },
    {
      ...{ version: 2, actor: 'bob' },
      changes: [{ modelId: 'gpt', member: 'price.input', before: '1', after: '1.5' }],
    },
    { version: 1, actor: 'ada', note: 'the first' },
  ]);
  const diff = await call('catalog', 'diff', '--from', '1', '--to', '2', '--json');
  expect(JSON.parse(diff.out)).toMatchObject({ from: 1, to: 2, differences: [{ after: '1.5' }] });
  for (const { out } of [first, preview, second, history, diff]) {
    expect(out).not.toMatch(/path-of-the-account|header-of-the-account|the-account-key/);
  }
});

it('refuses a file that was made from an older version, and says so', async () => {
  const { call, model, models, write, folder: path } = folder();
  models(model('gpt', '1'));
  await call('catalog', 'publish', 'models.json');
  const { out } = await call('catalog', 'show');
  models(model('gpt', '2'));
  await call('catalog', 'publish', 'models.json');
  const shown = JSON.parse(out);
  write({ ...shown, models: [model('gpt', '3')] }, 'edited.json');

  const late = await call('catalog', 'publish', 'edited.json');

  expect(shown).toMatchObject({ version: 1, models: [{ id: 'gpt' }] });
  expect(late.code).toBe(1);
  expect(late.err).toContain('Version 2 was published in the meantime');
  expect(JSON.parse((await call('catalog', 'show')).out)).toMatchObject({ version: 2 });
  write({ ...shown, version: 2, models: [model('gpt', '3')] }, 'edited.json');
  expect(await call('catalog', 'publish', 'edited.json')).toMatchObject({ code: 0 });
  expect(readFileSync(join(path, 'edited.json'), 'utf8')).toContain('"version":2');
});

it('names every mistake, and publishes nothing', async () => {
  const { call, model, models } = folder();
  models({ ...model('gpt', '1'), groups: 'staff' }, { ...model('o3', '1'), price: 5 });

  const refused = await call('catalog', 'publish', 'models.json');

  expect(refused.code).toBe(2);
  expect(refused.err).toContain('models[0].groups');
  expect(refused.err).toContain('models[1].price');
  expect((await call('catalog', 'history')).out).toContain('Nothing has been published.');
});

it('needs the secrets of the models, unless they are skipped', async () => {
  const { call, model, models } = folder();
  const [channel] = Reflect.get(model('gpt', '1'), 'channels');
  models({ ...model('gpt', '1'), channels: [{ ...channel, credential: { env: 'ELSEWHERE' } }] });

  const refused = await call('catalog', 'publish', 'models.json');
  const skipped = await call('catalog', 'publish', 'models.json', '--skip-secrets');

  expect(refused.err).toContain('names a variable that is not set');
  expect(skipped.out).toContain('Published version 1.');
});

it('says where a catalog without versions is changed', async () => {
  const { call } = commandFolder();

  expect(await call('catalog', 'history')).toMatchObject({
    code: 2,
    err: expect.stringContaining('catalog.store'),
  });
});

it('audit lists what commands have changed, with filters and as CSV', async () => {
  const { call, model, models } = folder();
  models(model('gpt', '1'));
  await call('catalog', 'publish', 'models.json', '--note', 'the first');
  const issued = await call('keys', 'issue', '--group', 'staff', '--limit', '5', '--id', 'k');
  await call('keys', 'disable', 'k', '--actor', 'bob');
  await call('keys', 'disable', 'nobody', '--actor', 'bob');

  const all = await call('audit', '--json');
  const bobs = await call('audit', '--actor', 'bob');
  const csv = await call('audit', '--csv', '--action', 'key');

  expect(JSON.parse(all.out).data).toMatchObject([
    { actor: 'bob', action: 'key.disable', target: 'nobody', outcome: 'failed' },
    { actor: 'bob', action: 'key.disable', target: 'k', outcome: 'done' },
    { actor: 'ada', action: 'key.issue', target: 'k', outcome: 'done' },
    { actor: 'ada', action: 'catalog.publish', change: { models: 1, version: 1 } },
  ]);
  expect(bobs.out.trim().split('\n')).toHaveLength(3);
  expect(csv.out.trim().split('\r\n')).toHaveLength(4);
  expect(all.out + csv.out).not.toContain(issued.out.trim());
  expect((await call('audit', '--last', 'week')).code).toBe(2);
});
