// suite: services
/** After calls full of canaries, no Redis key contains one, and none was ever written. */
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createClient } from 'redis';
import { expect, it, onTestFinished } from 'vitest';
import { memoryKeyStore } from '../../../src/stores/memory/key-store.ts';
import {
  redisIdempotencyStore,
  redisQuotaStore,
  redisRateLimiter,
} from '../../../src/stores/redis/index.ts';
import { describeRedis } from '../../services/redis.ts';
import { adjustment, caller, canariesIn, runCanaryCalls } from '../canary-calls.ts';

describeRedis('Redis', (server) => {
  it('keeps no prompt, reply, image, secret or address, and never did', async () => {
    const client = createClient({ socket: { path: server().path, tls: false } });
    await client.connect();
    onTestFinished(() => client.destroy());
    const quota = redisQuotaStore({ client });

    await runCanaryCalls({
      keys: memoryKeyStore({ keys: [caller] }),
      quota,
      idempotency: redisIdempotencyStore({ client }),
      rateLimiter: redisRateLimiter({ client }),
      defaultRates: [{ calls: { perHour: 100 }, tokens: { perDay: 1_000_000 } }],
    });
    await quota.adjust(adjustment);

    const names = await client.keys('*');
    const keys = await Promise.all(
      names.map(async (name) => [name, await read((args) => client.sendCommand(args), name)]),
    );
    const written = await appended(server().path);
    expect(canariesIn({ keys, written })).toEqual([]);
    const kinds = new Set(names.map((name) => name.split(':')[1]));
    expect([...kinds].toSorted()).toEqual(['claim', 'rate', '{default}']);
    expect(written).toContain(caller.key.id);
  });
});

/** The command that reads a key of each type. */
const readers: Readonly<Record<string, (name: string) => string[]>> = {
  string: (name) => ['GET', name],
  hash: (name) => ['HGETALL', name],
  list: (name) => ['LRANGE', name, '0', '-1'],
  set: (name) => ['SMEMBERS', name],
  zset: (name) => ['ZRANGE', name, '0', '-1'],
};

async function read(send: (args: string[]) => Promise<unknown>, name: string): Promise<unknown> {
  const type = String(await send(['TYPE', name]));
  const args = readers[type]?.(name);
  if (args === undefined) throw new Error(`the key ${name} is a ${type}: it can't be searched`);
  return send(args);
}

/** Every write since the server's start, including deleted data, from the append-only file. */
async function appended(path: string): Promise<string> {
  const folder = join(dirname(path), 'appendonlydir');
  const files = await readdir(folder);
  return (await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))).join('');
}
