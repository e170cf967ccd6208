/** After calls full of canaries, no key of Redis holds one, and none has ever been written. */
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
  it('keeps no prompt, answer, picture, secret or address, and has never had one', async () => {
    const client = createClient({ socket: { path: server().path, tls: false } });
    await client.connect();
    onTestFinished(() => client.destroy());
    const quota = redisQuotaStore({ client });

    await runCanaryCalls({
      keys: memoryKeyStore({ keys: [caller] }),
      quota,
      idempotency: redisIdempotencyStore({ client }),
      rateLimiter: redisRateLimiter({ client, points: 100, durationMs: 3_600_000 }),
    });
    await quota.adjust(adjustment);

    const names = await client.keys('*');
    const keys = await Promise.all(
      names.map(async (name) => [name, await read((words) => client.sendCommand(words), name)]),
    );
    const written = await appended(server().path);
    expect(canariesIn({ keys, written })).toEqual([]);
    const kinds = new Set(names.map((name) => name.split(':')[1]));
    expect([...kinds].toSorted()).toEqual(['claim', 'rate', '{default}']);
    expect(written).toContain(caller.key.id);
  });
});

/** What reads a key of each type. */
const readers: Readonly<Record<string, (name: string) => string[]>> = {
  string: (name) => ['GET', name],
  hash: (name) => ['HGETALL', name],
  list: (name) => ['LRANGE', name, '0', '-1'],
  set: (name) => ['SMEMBERS', name],
  zset: (name) => ['ZRANGE', name, '0', '-1'],
};

async function read(send: (words: string[]) => Promise<unknown>, name: string): Promise<unknown> {
  const type = String(await send(['TYPE', name]));
  const words = readers[type]?.(name);
  if (words === undefined) throw new Error(`the key ${name} is a ${type}: it can't be searched`);
  return send(words);
}

/** Every write since the server's start, also of what has been deleted: the append-only file. */
async function appended(path: string): Promise<string> {
  const folder = join(dirname(path), 'appendonlydir');
  const files = await readdir(folder);
  return (await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))).join('');
}
