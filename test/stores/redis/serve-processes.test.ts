// suite: services
/** Two `tollgate serve` processes over one Redis share limits, rates and charges. */
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { money } from '../../../src/prices/amount.ts';
import {
  chat,
  type LogLine,
  modelAt,
  newFolder,
  ran,
  served,
  writeConfig,
} from '../../command/serve/served.ts';
import { startStrictUpstream } from '../../providers/strict-upstream.ts';
import { describeRedis, startRedis } from '../../services/redis.ts';
import { build } from '../../support/built.ts';

const secret = 'a-long-secret-of-the-team-0123456789';
const env = { KEY: 'the-account-key', TEAM: secret };

beforeAll(build, 60_000);

describeRedis('tollgate over Redis', (server) => {
  // Only in the services suite: starting processes takes a second each.
  const inServices = it.skipIf(process.env.REQUIRE_SERVICES !== '1');

  inServices.each(['redis', 'ioredis'])('two processes over %s share one limit', async (client) => {
    const upstream = await startStrictUpstream();
    onTestFinished(() => upstream.close());
    const folder = newFolder();
    // A call holds about 600,000 nanos for its 1,000 tokens of output, and is charged less.
    const key = { id: `team-${client}`, secret: ['${', 'TEAM}'].join(''), group: 'staff' };
    writeConfig(folder, {
      listen: { port: 0, host: '127.0.0.1' },
      stores: { redis: { url: `unix://${server().path}`, client, prefix: client } },
      keys: { fixed: [{ ...key, limit: '0.0007' }] },
      gateway: { defaultRates: [{ calls: { perDay: 1_000 } }] },
      catalog: { models: [modelAt(upstream.openaiBaseUrl)] },
    });
    const one = await served(folder, env);
    const other = await served(folder, env);

    const answers: number[] = [];
    while (!answers.includes(403)) {
      for (const { origin } of [one, other]) {
        const answer = await chat(origin, secret);
        await answer.text();
        answers.push(answer.status);
      }
    }
    const checked = await ran(folder, ['check', '--json'], env);
    for (const { child } of [one, other]) child.kill('SIGTERM');

    expect(answers.filter((status) => status === 200).length).toBeGreaterThan(1);
    expect(await Promise.all([one.exited, other.exited])).toEqual([0, 0]);
    const charges = [...one.lines, ...other.lines].flatMap(chargeOf);
    const total = charges.reduce((sum, charge) => sum + charge, 0n);
    // The next call no longer fitted beside what both processes had charged.
    expect(total).toBeLessThanOrEqual(700_000n);
    expect(charges).toHaveLength(answers.filter((status) => status === 200).length);
    expect(statesOf(checked.out, 'stores.redis')).toEqual(['ok', 'ok', 'ok']);
  });

  inServices('check names the settings of a server that would lose balances', async () => {
    const careless = await startRedis(['--maxmemory-policy', 'allkeys-lru', '--appendonly', 'no']);
    onTestFinished(() => careless.remove());
    const folder = newFolder();
    writeConfig(folder, {
      stores: { redis: { url: `unix://${careless.path}` } },
      catalog: { models: [] },
    });
    const { code, out } = await ran(folder, ['check'], env);

    expect(code).toBe(1);
    expect(out).toMatch(/^failed +stores\.redis: maxmemory-policy is allkeys-lru/m);
    expect(out).toMatch(/^warning +stores\.redis: appendonly is off/m);
  });

  inServices('a server that is not there is exit code 3', async () => {
    const folder = newFolder();
    writeConfig(folder, {
      stores: { redis: { url: `unix://${folder}/none.sock` } },
      catalog: { models: [] },
    });
    const { code, err } = await ran(folder, ['serve'], env);

    expect(code).toBe(3);
    expect(err).toContain("stores.redis.url can't be opened");
  });
});

function chargeOf({ event, charge }: LogLine): readonly bigint[] {
  return event === 'call_ended' ? [money(String(charge))] : [];
}

function statesOf(text: string, wanted: string): readonly string[] {
  const found: readonly { readonly state: string; readonly subject: string }[] =
    JSON.parse(text).data;
  return found.filter(({ subject }) => subject === wanted).map(({ state }) => state);
}
