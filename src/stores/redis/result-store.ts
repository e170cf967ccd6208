/**
 * A result store in Redis, so that a repeated call can be answered by another process. Age and
 * total bytes are bounded on the server.
 *
 * Replies are user data, including images, so this store is used only if a host sets it up.
 */
import { z } from 'zod';
import { parseJson } from '../../json.ts';
import type { ResultStore, StoredResult } from '../../ports/result-store.ts';
import { checkMakerOptions, positive } from '../../ports/set-up.ts';
import { jsonText } from '../sql/columns.ts';
import { stringsFrom } from '../sql/usage-json.ts';
import { bytesScriptRunner, type RedisBytesClient } from './binary-client.ts';
import { withDeadline } from './deadline.ts';
import { ownerName } from './owner-name.ts';
import { corrupt, countIn } from './reply.ts';
import { type Script, scriptOf } from './script.ts';
import { bytesStoreOptions, defaultMaxBytes, defaultPrefix, remedies } from './set-up.ts';

/** The client, how many bytes are kept, and for how long. */
export interface RedisResultStoreOptions {
  /**
   * Connected and closed by the host. Better not the quota store's client or server: large bodies
   * delay its calls and take its memory.
   */
  readonly client: RedisBytesClient;
  /** Prefix of every key. Default: `tollgate`. */
  readonly prefix?: string;
  /** For all replies together, with 1 KiB of overhead for each. Default: 64 MiB. */
  readonly maxBytes?: number;
  /** How long a reply is kept, within `maxBytes`. Default: 30 min. */
  readonly maxAgeMs?: number;
}

const optionsSchema = z.strictObject(
  {
    ...bytesStoreOptions,
    maxAgeMs: positive.optional(),
  } satisfies Record<keyof RedisResultStoreOptions, z.ZodType>,
  'must be an object',
);

/** Estimated memory of a reply besides its body: name, headers, and an entry in three keys. */
const entryBytes = 1024;

/**
 * A result store in Redis 6.2 or newer, shared by any number of processes with the same `prefix`.
 * The oldest replies are evicted first; a reply larger than `maxBytes` is not kept. All replies are
 * on one node of a cluster.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function redisResultStore(options: RedisResultStoreOptions): ResultStore {
  checkMakerOptions('redisResultStore', optionsSchema, options, remedies);
  const { prefix = defaultPrefix, maxBytes = defaultMaxBytes, maxAgeMs = 1_800_000 } = options;
  const run = bytesScriptRunner(options.client);
  const base = `${prefix}:{results}:`;

  return {
    put: async (name, { headers, body }, callOptions) => {
      const size = body.byteLength + entryBytes;
      const owner = callOptions?.owner === undefined ? '' : ownerName(callOptions.owner);
      const bounds = [size, maxAgeMs, maxBytes].map(String);
      const args = [name, ...bounds, owner, jsonText(headers)];
      await withDeadline(callOptions, (signal) => run(putScript, base, [...args, body], signal));
    },
    get: async (name, callOptions) =>
      resultFrom(await withDeadline(callOptions, (signal) => run(getScript, base, [name], signal))),
    forgetOwner: async (owner, callOptions) => {
      const args = [ownerName(owner)];
      return countIn(
        await withDeadline(callOptions, (signal) => run(forgetOwnerScript, base, args, signal)),
      );
    },
  };
}

function resultFrom(reply: unknown): StoredResult | undefined {
  if (!Array.isArray(reply)) return corrupt();
  const [headers, body]: readonly unknown[] = reply;
  if (headers === undefined && body === undefined) return undefined;
  if (!(headers instanceof Uint8Array && body instanceof Uint8Array)) return corrupt();
  const known = stringsFrom(parseJson(Buffer.from(headers).toString()));
  return { headers: known ?? corrupt(), body: new Uint8Array(body) };
}

/**
 * KEYS: the prefix of all keys.
 *
 * ```
 * <base>r:<name>  hash    headers, body
 * <base>ages      zset    name → when it expires
 * <base>sizes     hash    name → its size
 * <base>bytes     string  the sum of the sizes
 * <base>owners    hash    name → its owner, if it has one
 * <base>of:<o>    zset    the names of one owner, with when they expire
 * ```
 */
const prelude = `
local base = KEYS[1]
local ages, sizes, bytes = base .. 'ages', base .. 'sizes', base .. 'bytes'
local owners = base .. 'owners'
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
  local owner = redis.call('HGET', owners, old)
  if not owner then return end
  redis.call('HDEL', owners, old)
  redis.call('ZREM', base .. 'of:' .. owner, old)
end
`;

/** ARGV: name, size, maxAgeMs, maxBytes, owner, headers, body. */
const putScript: Script = scriptOf(`${prelude}
local name, owner = ARGV[1], ARGV[5]
local size, maxAgeMs, most = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local own = base .. 'of:' .. owner
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

redis.call('HSET', base .. 'r:' .. name, 'headers', ARGV[6], 'body', ARGV[7])
redis.call('PEXPIRE', base .. 'r:' .. name, int(maxAgeMs))
redis.call('ZADD', ages, int(now + maxAgeMs), name)
redis.call('HSET', sizes, name, int(size))
redis.call('INCRBY', bytes, int(size))
if owner ~= '' then
  redis.call('HSET', owners, name, owner)
  redis.call('ZADD', own, int(now + maxAgeMs), name)
end
-- The counts live exactly as long as the replies that they count.
for _, key in ipairs({ ages, sizes, bytes, owners, own }) do
  if redis.call('PTTL', key) < maxAgeMs then redis.call('PEXPIRE', key, int(maxAgeMs)) end
end
return { '1' }
`);

/** ARGV: owner. Forgets the 100 oldest of its replies. */
const forgetOwnerScript: Script = scriptOf(`${prelude}
local names = redis.call('ZRANGE', base .. 'of:' .. ARGV[1], 0, 99)
for _, name in ipairs(names) do
  forget(name)
end
return { tostring(#names) }
`);

/** KEYS: the prefix of all keys. ARGV: name. */
const getScript: Script = scriptOf(`
local fields = redis.call('HMGET', KEYS[1] .. 'r:' .. ARGV[1], 'headers', 'body')
if not fields[1] then return {} end
return fields
`);
