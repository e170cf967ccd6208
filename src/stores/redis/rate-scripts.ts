/**
 * The scripts of the rate limiter. They do in Lua what `stores/memory/token-bucket.ts` does: time
 * counts in ticks of 1/60,000 of the period, and amounts in parts of 1/60,000, so that a bucket
 * refills by `limit` parts in each tick and all numbers are integers.
 *
 * A bucket is a string of three numbers, `used tick limit`; see `TokenBucket`.
 */
import { type Script, scriptOf } from './script.ts';

/**
 * Reads the buckets in KEYS as they are now; ARGV has three numbers for each: its limit, the amount
 * and the ms of a tick, from the second argument on.
 */
const readBuckets = `
local parts = 60000
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local buckets = {}
for index, key in ipairs(KEYS) do
  local given, amount, tickMs =
    tonumber(ARGV[3 * index - 1]), tonumber(ARGV[3 * index]), tonumber(ARGV[3 * index + 1])
  local bucket = {
    key = key, used = 0, tick = math.floor(nowMs / tickMs), limit = given,
    given = given, amount = amount, tickMs = tickMs,
  }
  local value = redis.call('GET', key)
  if value then
    local used, tick, limit = string.match(value, '^(%d+) (%d+) (%d+)$')
    if not used then return { 'corrupt' } end
    used, tick, limit = tonumber(used), tonumber(tick), tonumber(limit)
    local nowTick = math.max(bucket.tick, tick)
    used = used - (nowTick - tick) * limit
    bucket.tick = nowTick
    if used > 0 then bucket.used, bucket.limit = used, limit end
  end
  buckets[index] = bucket
end

-- A margin after the time at which the bucket is full, because servers' clocks differ.
local marginMs = 10000
local function write(bucket)
  if bucket.used <= 0 then return redis.call('DEL', bucket.key) end
  local fullMs = (bucket.tick + math.ceil(bucket.used / bucket.limit)) * bucket.tickMs
  local value = string.format('%.0f %.0f %.0f', bucket.used, bucket.tick, bucket.limit)
  local ttlMs = string.format('%.0f', fullMs - nowMs + marginMs)
  return redis.call('SET', bucket.key, value, 'PX', ttlMs)
end
`;

/**
 * KEYS: the buckets of one owner. ARGV: `take`, or `look` to change nothing; then as above. Returns
 * `1` if all amounts were there, else `0` with the number of the bucket that has to wait longest
 * and its wait; then what remains in each.
 */
export const takeScript: Script = scriptOf(`
${readBuckets}
local refused, waitMs = 0, 0
for index, bucket in ipairs(buckets) do
  local missing = bucket.used + (bucket.amount - bucket.given) * parts
  if missing > 0 then
    local dueMs = (bucket.tick + math.ceil(missing / bucket.limit)) * bucket.tickMs
    if dueMs - nowMs > waitMs then refused, waitMs = index, dueMs - nowMs end
  end
end
local reply = { '1' }
if refused > 0 then
  reply = { '0', string.format('%.0f', refused), string.format('%.0f', waitMs) }
end
for _, bucket in ipairs(buckets) do
  if refused == 0 and ARGV[1] == 'take' then
    bucket.used, bucket.limit = bucket.used + bucket.amount * parts, bucket.given
    write(bucket)
  end
  local remaining = math.max(0, math.floor(bucket.given - bucket.used / parts))
  reply[#reply + 1] = string.format('%.0f', remaining)
end
return reply
`);

/** KEYS: the buckets of one owner. ARGV: `adjust`, then as above; amounts may be negative. */
export const adjustScript: Script = scriptOf(`
${readBuckets}
for _, bucket in ipairs(buckets) do
  bucket.used = math.min(bucket.used + bucket.amount * parts, bucket.limit * parts)
  write(bucket)
end
return { '1' }
`);
