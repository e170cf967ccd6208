/**
 * The operations of the Redis stores of items and of replies, one script each.
 *
 * ```
 * <base>i:<name>       string  an item; a name is <owner>:<id>
 * <base>r:<id>         string  a reply, which is found without its owner
 * <base>ends           zset    name → when it expires
 * <base>used           zset    name → when it was last used; the first ones are forgotten first
 * <base>used:<owner>   zset    the same for what one owner keeps
 * <base>sizes          hash    name → its size
 * <base>bytes          hash    the sum of the sizes: of each owner, and of all under the name `all`
 * ```
 */
import { type Script, scriptOf } from './client.ts';

/** `keyOf` is the key of what has this `name`. */
const preludeOf = (keyOf: string): string => `
local base, owner = KEYS[1], ARGV[1]
local ends, used, sizes, bytes = base .. 'ends', base .. 'used', base .. 'sizes', base .. 'bytes'
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- In microseconds, because a set orders what was used in one millisecond by name.
local usedAt = time[1] * 1000000 + time[2]

local function int(x)
  return string.format('%.0f', x)
end

local function keyOf(name)
  return base .. ${keyOf}
end

local function usedOf(name)
  return used .. ':' .. string.match(name, '^[^:]*')
end

local function forget(name)
  local size = redis.call('HGET', sizes, name)
  redis.call('DEL', keyOf(name))
  redis.call('ZREM', ends, name)
  redis.call('ZREM', used, name)
  redis.call('ZREM', usedOf(name), name)
  redis.call('HDEL', sizes, name)
  if not size then return end
  redis.call('HINCRBY', bytes, 'all', -size)
  local holder = string.match(name, '^[^:]*')
  if redis.call('HINCRBY', bytes, holder, -size) <= 0 then redis.call('HDEL', bytes, holder) end
end

local function sum(of)
  return tonumber(redis.call('HGET', bytes, of) or '0')
end

-- Forgets those that were not used for the longest time until there is room.
local function makeRoom(list, of, most)
  while sum(of) > most do
    local oldest = redis.call('ZRANGE', list, 0, 0)[1]
    if not oldest then return redis.call('HDEL', bytes, of) end
    forget(oldest)
  end
end
`;

/** ARGV: owner, ttlMs, maxBytes, maxOwnerBytes, a count, then id, size and bytes of each. */
const put = `
local ttlMs, most, ownMost = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
for _, old in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', int(now), 'LIMIT', 0, 100)) do
  forget(old)
end
for at = 1, tonumber(ARGV[5]) do
  local name, size = owner .. ':' .. ARGV[3 * at + 3], ARGV[3 * at + 4]
  forget(name)
  redis.call('SET', keyOf(name), ARGV[3 * at + 5], 'PX', int(ttlMs))
  redis.call('ZADD', ends, int(now + ttlMs), name)
  redis.call('ZADD', used, int(usedAt), name)
  redis.call('ZADD', used .. ':' .. owner, int(usedAt), name)
  redis.call('HSET', sizes, name, size)
  redis.call('HINCRBY', bytes, 'all', size)
  redis.call('HINCRBY', bytes, owner, size)
end
makeRoom(used .. ':' .. owner, owner, ownMost)
makeRoom(used, 'all', most)
-- The counts live as long as what they count.
for _, key in ipairs({ ends, used, used .. ':' .. owner, sizes, bytes }) do
  if redis.call('PTTL', key) < ttlMs then redis.call('PEXPIRE', key, int(ttlMs)) end
end
return { '1' }
`;

/** ARGV: owner. Forgets the 100 least recently used. */
const forgetOwner = `
local names = redis.call('ZRANGE', used .. ':' .. owner, 0, 99)
for _, name in ipairs(names) do
  forget(name)
end
return { tostring(#names) }
`;

const ofItems = preludeOf(`'i:' .. name`);
const ofResults = preludeOf(`'r:' .. string.match(name, '[^:]*$')`);
export const putItemsScript: Script = scriptOf(ofItems + put);
export const forgetItemsOfOwnerScript: Script = scriptOf(ofItems + forgetOwner);
export const putResultScript: Script = scriptOf(ofResults + put);
export const forgetResultsOfOwnerScript: Script = scriptOf(ofResults + forgetOwner);

/** ARGV: owner, a count, then ids. The reply has an empty list for what is not kept. */
export const getItemsScript: Script = scriptOf(`${ofItems}
local found = {}
for at = 1, tonumber(ARGV[2]) do
  local name = owner .. ':' .. ARGV[at + 2]
  local endsAt = redis.call('ZSCORE', ends, name)
  local item = endsAt and tonumber(endsAt) > now and redis.call('GET', keyOf(name))
  if item then
    redis.call('ZADD', used, 'XX', int(usedAt), name)
    redis.call('ZADD', used .. ':' .. owner, 'XX', int(usedAt), name)
    found[at] = { item }
  else
    found[at] = {}
  end
end
return found
`);

/** ARGV: owner, a count, then ids. */
export const forgetItemsScript: Script = scriptOf(`${ofItems}
for at = 1, tonumber(ARGV[2]) do
  forget(owner .. ':' .. ARGV[at + 2])
end
return { '1' }
`);

/** KEYS: the prefix of all keys. ARGV: id. The reply is an empty list for what is not kept. */
export const getResultScript: Script = scriptOf(`
local kept = redis.call('GET', KEYS[1] .. 'r:' .. ARGV[1])
return kept and { kept } or {}
`);
