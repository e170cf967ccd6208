// suite: search host
/** `tollgate serve` applies a changed configuration, and keeps serving while one is wrong. */
import { beforeAll, expect, it } from 'vitest';
import { build } from '../../support/built.ts';
import { chat, issuedAda, modelAt, served, sqliteHost, writeConfig } from './served.ts';

const env = { KEY: 'the-account-key' };

beforeAll(build, 60_000);

it('applies a changed file, and keeps the old one while the new one is wrong', async () => {
  const { folder, upstream, config } = await sqliteHost();
  const secret = await issuedAda(folder, env);
  const { origin, child, until, exited } = await served(folder, env);

  writeConfig(folder, { ...config, gateway: { leaseMs: 1 } });
  child.kill('SIGHUP');
  const refused = await until('config_refused');
  const before = await chat(origin, secret);
  await before.text();
  const models = [modelAt(upstream.openaiBaseUrl), modelAt(upstream.openaiBaseUrl, 'other')];
  writeConfig(folder, { ...config, listen: { port: 1 }, catalog: { models } });
  child.kill('SIGHUP');
  await until('config_loaded');
  const restart = await until('config_needs_restart');
  const after = await chat(origin, secret, { model: 'other' });
  await after.text();
  child.kill('SIGINT');

  expect(refused.reason).toMatch(/^tollgate\.json: gateway\.leaseMs must be /);
  expect([before.status, after.status]).toEqual([200, 200]);
  expect(restart.members).toEqual(['listen']);
  expect(await exited).toBe(0);
});

it('replaces the keys in the file, and keeps them when something else changes', async () => {
  const { folder, config } = await sqliteHost();
  const secrets = {
    ONE: 'a-long-secret-of-one-team-0123456789',
    TWO: 'the-secret-of-another-team-987654',
  };
  const withKey = (name: 'ONE' | 'TWO', level: string): object => ({
    ...config,
    stores: {},
    log: { level },
    keys: {
      fixed: [{ id: 'team', secret: ['${', name, '}'].join(''), group: 'staff', limit: '5' }],
    },
  });
  writeConfig(folder, withKey('ONE', 'info'));
  const { origin, child, until, exited } = await served(folder, { ...env, ...secrets });
  const statusOf = async (secret: string): Promise<number> => {
    const answer = await chat(origin, secret);
    await answer.text();
    return answer.status;
  };

  const before = [await statusOf(secrets.ONE), await statusOf(secrets.TWO)];
  writeConfig(folder, withKey('TWO', 'info'));
  child.kill('SIGHUP');
  await until('config_loaded');
  const after = [await statusOf(secrets.ONE), await statusOf(secrets.TWO)];
  writeConfig(folder, withKey('TWO', 'debug'));
  child.kill('SIGHUP');
  await until('config_loaded', 2);
  const later = [await statusOf(secrets.ONE), await statusOf(secrets.TWO)];
  child.kill('SIGTERM');

  expect([before, after, later]).toEqual([
    [200, 401],
    [401, 200],
    [401, 200],
  ]);
  expect(await exited).toBe(0);
});
