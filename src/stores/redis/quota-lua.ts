/**
 * The common beginning of all quota scripts: names of keys, the clock, and the steps that move
 * money between a row and its reservations. The operations are in `quota-scripts.ts`.
 *
 * All keys have the hash tag of their partition `p`, so that a Redis Cluster keeps them together:
 *
 * ```
 * <prefix>:{p}:b:<subject>|<period>  hash    limit, carried, extra, used, held, inFlight, disabled,
 *                                            version
 * <prefix>:{p}:r:<id>                hash    state, idle, lines until settled, charged from then on
 * <prefix>:{p}:l                     zset    id → end of its lease, for the whole partition
 * <prefix>:{p}:s:<subject>           zset    the same, for one subject
 * <prefix>:{p}:i:<subject>           set     ids that hold money but whose calls no longer run
 * <prefix>:{p}:a:<id>                string  an adjustment that has been applied
 * ```
 *
 * Only ended `r` have a TTL. A script gets the base `<prefix>:{p}:` and builds key names from it,
 * because only the script knows which leases are due. No name contains `:` or `|`.
 */
import { maxNanos } from '../../money.ts';
import { maxLazyExpirations } from '../../ports/limits/quota-input.ts';

/** The common part of the quota scripts. Reservation lines have: row, requested, held, onExpire. */
export const quotaPrelude: string = `
-- Without arguments the script is only being loaded.
if #ARGV == 0 then return {} end
local base = KEYS[1]
local endedTtlMs = ARGV[1]
local lazily = ${maxLazyExpirations}
local leases = base .. 'l'

-- The server's clock, since the clocks of the callers may differ.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Lua numbers are doubles, exact up to 2^53, but by default printed as 1e+15, or as -0.
local function int(x)
  return string.format('%.0f', x == 0 and 0 or x)
end

local function rowKey(name)
  return base .. 'b:' .. name
end

local function subjectKey(row)
  return base .. 's:' .. string.match(row, '^[^|]+')
end

local function idleKey(row)
  return base .. 'i:' .. string.match(row, '^[^|]+')
end

-- The effective limit, kept within the range of an amount so that doubles stay exact.
local function limitWithExtra(limit, extra)
  return math.max(0, math.min(${maxNanos}, limit + extra))
end

local function find(id)
  local key = base .. 'r:' .. id
  local fields = redis.call('HMGET', key, 'state', 'lines', 'charged', 'idle')
  if not fields[1] then return nil end
  local lines = {}
  for row, requested, held, onExpire in string.gmatch(fields[2] or '', '(%S+) (%d+) (%d+) (%d+)') do
    lines[#lines + 1] = { row = row, requested = requested, held = held, onExpire = onExpire }
  end
  return {
    id = id, key = key, state = fields[1], lines = lines, charged = fields[3],
    idle = fields[4] and true or false,
  }
end

local function writeLines(reservation)
  local parts = {}
  for _, line in ipairs(reservation.lines) do
    parts[#parts + 1] = table.concat({ line.row, line.requested, line.held, line.onExpire }, ' ')
  end
  redis.call('HSET', reservation.key, 'lines', table.concat(parts, ' '))
end

-- HINCRBY uses 64-bit integers, and stays exact where a sum of debts exceeds 2^53.
local function add(row, field, amount)
  redis.call('HINCRBY', rowKey(row), field, amount)
end

local function setDue(reservation, dueAt)
  redis.call('ZADD', leases, int(dueAt), reservation.id)
  for _, line in ipairs(reservation.lines) do
    redis.call('ZADD', subjectKey(line.row), int(dueAt), reservation.id)
  end
end

-- The leases are removed first: a full server refuses a script whose first write takes memory, but
-- it must still be possible to end a hold.
local function giveBack(reservation)
  redis.call('ZREM', leases, reservation.id)
  for _, line in ipairs(reservation.lines) do
    redis.call('ZREM', subjectKey(line.row), reservation.id)
    if reservation.idle then
      redis.call('SREM', idleKey(line.row), reservation.id)
    else
      add(line.row, 'inFlight', -1)
    end
    add(line.row, 'held', int(-line.held))
    add(line.row, 'version', 1)
  end
end

local function bury(reservation, state)
  redis.call('HSET', reservation.key, 'state', state)
  redis.call('PEXPIRE', reservation.key, endedTtlMs)
end

-- Keeps only what a repeat needs, since ended holds take most of the memory.
local function buryBare(key, state, charged)
  redis.call('DEL', key)
  redis.call('HSET', key, 'state', state, 'charged', charged)
  redis.call('PEXPIRE', key, endedTtlMs)
end

local function expire(reservation)
  giveBack(reservation)
  for _, line in ipairs(reservation.lines) do
    add(line.row, 'used', line.onExpire)
  end
  bury(reservation, 'expired')
end

-- Expires due leases of a queue, at most max of them.
local function expireDue(queue, max)
  local ids = redis.call('ZRANGEBYSCORE', queue, '-inf', int(now), 'LIMIT', 0, max)
  for _, id in ipairs(ids) do
    local reservation = find(id)
    if reservation and reservation.state == 'held' then
      expire(reservation)
    else
      -- Somebody else deleted the reservation: its lease must not block the others.
      redis.call('ZREM', queue, id)
      if queue ~= leases then
        redis.call('SREM', base .. 'i:' .. string.sub(queue, #base + 3), id)
      end
    end
  end
  return #ids
end

local function expireDueOf(rows)
  for _, row in ipairs(rows) do
    expireDue(subjectKey(row), lazily)
  end
end

-- The current reservation: one whose lease has run out is expired first.
local function findAsOfNow(id)
  local reservation = find(id)
  if reservation and reservation.state == 'held' then
    local dueAt = tonumber(redis.call('ZSCORE', leases, id))
    reservation.dueAt = dueAt
    if dueAt <= now then
      expire(reservation)
      reservation.state = 'expired'
    end
  end
  return reservation
end

-- The caller computes the rest from: limit with extra, used, held. Texts: they may exceed 2^53.
local function balance(row)
  local fields = redis.call('HMGET', rowKey(row), 'limit', 'used', 'held', 'extra')
  local limit = int(limitWithExtra(fields[1] or '0', fields[4] or '0'))
  return limit, fields[2] or '0', fields[3] or '0'
end
`;
