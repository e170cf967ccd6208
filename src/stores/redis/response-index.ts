/**
 * An index of responses in Redis, shared by any number of processes. It holds ids, never content.
 * The entries of an owner are on one node of a cluster.
 */
import { z } from 'zod';
import { parseJson } from '../../json.ts';
import type { IndexEntry, ResponseIndex } from '../../ports/replies/response-index.ts';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { type RedisClient, type RunScript, type Script, scriptOf, scriptRunner } from './client.ts';
import { withDeadline } from './deadline.ts';
import { corrupt, countIn, textsOf } from './reply.ts';
import { aPrefix, aRedisClient, defaultPrefix, ownerName, remedies } from './set-up.ts';

/** The client and the prefix of the keys. */
export interface RedisResponseIndexOptions {
  /** Connected and closed by the host. */
  readonly client: RedisClient;
  /** Prefix of every key. Default: `tollgate`. */
  readonly prefix?: string;
}

const optionsSchema = strict('must be an object', {
  client: aRedisClient,
  prefix: aPrefix.optional(),
} satisfies Record<keyof RedisResponseIndexOptions, z.ZodType>);

/**
 * An index in Redis 6.2 or newer; one script for each operation. An entry takes about 400 bytes
 * until it expires.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function redisResponseIndex(options: RedisResponseIndexOptions): ResponseIndex {
  checkMakerOptions('redisResponseIndex', optionsSchema, options, remedies);
  return responseIndexOver(scriptRunner(options.client), options);
}

/** The same index over a function that runs scripts. */
export function responseIndexOver(
  run: RunScript,
  { prefix = defaultPrefix }: Omit<RedisResponseIndexOptions, 'client'>,
): ResponseIndex {
  const baseOf = (owner: string): string => `${prefix}:ref:{${ownerName(owner)}}:`;

  return {
    durability: 'shared',
    remember: async (entries, options) => {
      // All entries of a reply have one owner; others would need a script each.
      const owners = new Set(entries.map(({ owner }) => owner));
      await withDeadline(options, (signal) =>
        Promise.all(
          [...owners].map((owner) => {
            const own = entries.filter((entry) => entry.owner === owner);
            const args = [String(own.length), ...own.flatMap(argsOf)];
            return run({ script: rememberScript, keys: [baseOf(owner)], args }, signal);
          }),
        ),
      );
    },
    find: async (owner, ids, options) => {
      if (ids.length === 0) return [];
      const call = { script: findScript, keys: [baseOf(owner)], args: [`${ids.length}`, ...ids] };
      const texts = textsOf(await withDeadline(options, (signal) => run(call, signal)));
      if (texts.length !== ids.length) return corrupt();
      return texts.map((text, at) => (text === '' ? undefined : entryFrom(text, owner, ids[at])));
    },
    forgetOwner: async (owner, options) => {
      const call = { script: forgetOwnerScript, keys: [baseOf(owner)], args: [] };
      return countIn(await withDeadline(options, (signal) => run(call, signal)));
    },
    forget: async (owner, ids, options) => {
      if (ids.length === 0) return;
      const call = { script: forgetScript, keys: [baseOf(owner)], args: [`${ids.length}`, ...ids] };
      await withDeadline(options, (signal) => run(call, signal));
    },
  };
}

/** The arguments of an entry: its id, when it expires, and the rest as JSON. */
function argsOf({ id, owner: _owner, expiresAtMs, ...rest }: IndexEntry): readonly string[] {
  return [id, String(Math.ceil(expiresAtMs)), JSON.stringify(rest)];
}

const storedEntry = z.object({
  account: z.string(),
  modelId: z.string(),
  kind: z.enum(['response', 'item', 'sealed']),
  maxTokens: z.number().optional(),
});

/** @throws StoreCorrupt where the text is not one of {@link argsOf} */
function entryFrom(text: string, owner: string, id: string | undefined): IndexEntry {
  const space = text.indexOf(' ');
  const expiresAtMs = Number(text.slice(0, space));
  const { data } = storedEntry.safeParse(parseJson(text.slice(space + 1)));
  if (data === undefined || id === undefined || !Number.isFinite(expiresAtMs)) return corrupt();
  const { maxTokens, ...rest } = data;
  return { id, owner, expiresAtMs, ...rest, ...(maxTokens === undefined ? {} : { maxTokens }) };
}

const prelude = `
local base = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- The ids of the owner, with when they expire. No id has an asterisk.
local ids = base .. '*'
`;

/** KEYS: the prefix of the owner's keys. ARGV: a count, then id, expiry and JSON of each entry. */
const rememberScript: Script = scriptOf(`${prelude}
redis.call('ZREMRANGEBYSCORE', ids, '-inf', string.format('%.0f', now))
for at = 1, tonumber(ARGV[1]) do
  local id, endsAt, value = ARGV[3 * at - 1], ARGV[3 * at], ARGV[3 * at + 1]
  local left = tonumber(endsAt) - now
  if left > 0 then
    redis.call('SET', base .. id, endsAt .. ' ' .. value, 'PX', string.format('%.0f', left))
    redis.call('ZADD', ids, endsAt, id)
    if redis.call('PTTL', ids) < left then
      redis.call('PEXPIRE', ids, string.format('%.0f', left))
    end
  else
    redis.call('DEL', base .. id)
    redis.call('ZREM', ids, id)
  end
end
return { '1' }
`);

/** KEYS: the prefix of the owner's keys. ARGV: a count, then ids. */
const findScript: Script = scriptOf(`${prelude}
local found = {}
for at = 1, tonumber(ARGV[1]) do
  local value = redis.call('GET', base .. ARGV[at + 1])
  -- The TTL only frees the memory; the time in the entry decides.
  if value and tonumber(string.match(value, '^%d+')) > now then
    found[at] = value
  else
    found[at] = ''
  end
end
return found
`);

/** KEYS: the prefix of the owner's keys. ARGV: a count, then ids. */
const forgetScript: Script = scriptOf(`${prelude}
for at = 1, tonumber(ARGV[1]) do
  redis.call('DEL', base .. ARGV[at + 1])
  redis.call('ZREM', ids, ARGV[at + 1])
end
return { '1' }
`);

/** KEYS: the prefix of the owner's keys. Forgets the 1,000 entries that expire first. */
const forgetOwnerScript: Script = scriptOf(`${prelude}
local found = redis.call('ZRANGE', ids, 0, 999)
for _, id in ipairs(found) do
  redis.call('DEL', base .. id)
  redis.call('ZREM', ids, id)
end
return { tostring(#found) }
`);
