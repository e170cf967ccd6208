/**
 * Replies in Redis, for those who ask again of another process: bytes, for a time, up to a number
 * of bytes that the server itself keeps to.
 *
 * They are user data, pictures among them. Nothing keeps them here unless a host asks for it.
 */
import { z } from 'zod';
import { parseJson } from '../../json.ts';
import type { ResultStore, StoredResult } from '../../ports/result-store.ts';
import { checkMakerOptions, positive } from '../../ports/set-up.ts';
import { jsonText } from '../sql/columns.ts';
import { labelsFrom } from '../sql/usage-json.ts';
import { bytesScriptRunner, isRedisBytesClient, type RedisBytesClient } from './binary-client.ts';
import { patiently } from './patience.ts';
import { corrupt } from './reply.ts';
import { type Script, scriptOf } from './script.ts';
import { aPrefix, cures, defaultPrefix } from './set-up.ts';

/** The client, and how much is kept how long. */
export interface RedisResultStoreOptions {
  /**
   * Connected by the host, and closed by it. Better not the quota store's: large bodies would delay
   * its calls, and a quota server must not share its memory with pictures.
   */
  readonly client: RedisBytesClient;
  /** What every key begins with; `tollgate` where left out. */
  readonly prefix?: string;
  /** All replies together, with what they cost beside their bodies; 64 MiB where left out. */
  readonly maxBytes?: number;
  /** How long a reply is kept, if there is room; 30 min where left out. */
  readonly maxAgeMs?: number;
}

const optionsSchema = z.strictObject(
  {
    client: z.custom(isRedisBytesClient, 'must be a node-redis client, 5 or newer, or an ioredis'),
    prefix: aPrefix.optional(),
    maxBytes: positive.optional(),
    maxAgeMs: positive.optional(),
  } satisfies Record<keyof RedisResultStoreOptions, z.ZodType>,
  'must be an object',
);

/** What a reply costs the server beside its body: name, headers, and a place in three keys. */
const entryBytes = 1024;

/**
 * A result store in Redis 6.2 or newer, shared by any number of processes with the same `prefix`.
 * The oldest replies go first; one larger than `maxBytes` is not kept. All of it lies on one node
 * of a cluster.
 *
 * @throws ConfigurationError that names the option and the cure
 */
export function redisResultStore(options: RedisResultStoreOptions): ResultStore {
  checkMakerOptions('redisResultStore', optionsSchema, options, cures);
  const { prefix = defaultPrefix, maxBytes = 64 * 1024 * 1024, maxAgeMs = 1_800_000 } = options;
  const run = bytesScriptRunner(options.client);
  const base = `${prefix}:{results}:`;

  return {
    put: async (name, { headers, body }, call) => {
      const size = body.byteLength + entryBytes;
      const words = [name, String(size), String(maxAgeMs), String(maxBytes), jsonText(headers)];
      await patiently(call, (signal) => run(putScript, base, [...words, body], signal));
    },
    get: async (name, call) =>
      resultFrom(await patiently(call, (signal) => run(getScript, base, [name], signal))),
  };
}

function resultFrom(reply: unknown): StoredResult | undefined {
  if (!Array.isArray(reply)) return corrupt();
  const [headers, body]: readonly unknown[] = reply;
  if (headers === undefined && body === undefined) return undefined;
  if (!(headers instanceof Uint8Array && body instanceof Uint8Array)) return corrupt();
  const known = labelsFrom(parseJson(Buffer.from(headers).toString()));
  return { headers: known ?? corrupt(), body: new Uint8Array(body) };
}

/**
 * KEYS: what all keys begin with. ARGV: name, size, maxAgeMs, maxBytes, headers, body.
 *
 * ```
 * <base>r:<name>  hash    headers, body
 * <base>ages      zset    name → when it is forgotten
 * <base>sizes     hash    name → what it counts
 * <base>bytes     string  the sum of them
 * ```
 */
const putScript: Script = scriptOf(`
local base, name = KEYS[1], ARGV[1]
local size, maxAgeMs, most = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local ages, sizes, bytes = base .. 'ages', base .. 'sizes', base .. 'bytes'
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function int(x)
  return string.format('%.0f', x)
end

local function forget(old)
  local counted = redis.call('HGET', sizes, old)
  redis.call('DEL', base .. 'r:' .. old)
  redis.call('ZREM', ages, old)
  redis.call('HDEL', sizes, old)
  if counted then redis.call('DECRBY', bytes, counted) end
end

for _, old in ipairs(redis.call('ZRANGEBYSCORE', ages, '-inf', int(now), 'LIMIT', 0, 100)) do
  forget(old)
end
forget(name)
if size > most then return { '0' } end
while tonumber(redis.call('GET', bytes) or '0') + size > most do
  local oldest = redis.call('ZRANGE', ages, 0, 0)[1]
  if not oldest then
    redis.call('DEL', bytes)
    break
  end
  forget(oldest)
end

redis.call('HSET', base .. 'r:' .. name, 'headers', ARGV[5], 'body', ARGV[6])
redis.call('PEXPIRE', base .. 'r:' .. name, int(maxAgeMs))
redis.call('ZADD', ages, int(now + maxAgeMs), name)
redis.call('HSET', sizes, name, int(size))
redis.call('INCRBY', bytes, int(size))
-- What is counted lives as long as what it counts, and no longer.
for _, key in ipairs({ ages, sizes, bytes }) do
  if redis.call('PTTL', key) < maxAgeMs then redis.call('PEXPIRE', key, int(maxAgeMs)) end
end
return { '1' }
`);

/** KEYS: what all keys begin with. ARGV: name. */
const getScript: Script = scriptOf(`
local fields = redis.call('HMGET', KEYS[1] .. 'r:' .. ARGV[1], 'headers', 'body')
if not fields[1] then return {} end
return fields
`);
