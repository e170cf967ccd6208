/**
 * The operations of the Redis quota store, one atomic script each. They do the same as
 * `stores/memory/quota-operations.ts`, in the same order. Numbers in replies are strings.
 */
import { maxNanos } from '../../money.ts';
import { type Script, scriptOf } from './client.ts';
import { quotaPrelude } from './quota-lua.ts';

/**
 * ARGV: endedTtlMs, id, ttlMs, count; by line: subject|period, amount, charge on expiry, limit or
 * '', cap or ''.
 */
export const reserveScript: Script = scriptOf(`${quotaPrelude}
local id, ttlMs, count = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local rows, lines = {}, {}
for index = 1, count do
  local at = 5 * index
  rows[index] = ARGV[at]
  lines[index] = {
    row = ARGV[at], requested = ARGV[at + 1], held = ARGV[at + 1], onExpire = ARGV[at + 2],
    limit = ARGV[at + 3], cap = ARGV[at + 4],
  }
end

local function held(replay, dueAt)
  local reply = { 'held', replay, int(dueAt) }
  for _, row in ipairs(rows) do
    for _, text in ipairs({ balance(row) }) do reply[#reply + 1] = text end
  end
  return reply
end

local function isSame(known)
  if #known.lines ~= count then return false end
  for index, line in ipairs(lines) do
    local other = known.lines[index]
    if other.row ~= line.row or other.requested ~= line.requested then return false end
  end
  return true
end

expireDueOf(rows)
local known = findAsOfNow(id)
if known then
  if known.state ~= 'held' then return { 'resolved', known.state } end
  if not isSame(known) then return { 'id_conflict' } end
  return held('1', known.dueAt)
end

-- The limit of each line is stored whether the hold is granted or not: a lowered limit must also
-- bound the growth of running holds. Nothing else is written before every line is known to fit.
local function carryLimit(row, kept, carried, limit)
  local is = limit == '' and '0' or '1'
  -- HSET, because a full server refuses it, and thus every new hold.
  if (carried or '0') ~= is then redis.call('HSET', rowKey(row), 'carried', is) end
  if limit == '' or limit == kept then return kept end
  redis.call('HSET', rowKey(row), 'limit', limit)
  add(row, 'version', 1)
  return limit
end

local refusal
for index, line in ipairs(lines) do
  local fields = redis.call('HMGET', rowKey(line.row),
    'limit', 'used', 'held', 'disabled', 'extra', 'carried', 'version')
  local limit = fields[1] or ''
  if fields[7] then
    limit = carryLimit(line.row, limit, fields[6], line.limit)
  else
    limit = line.limit
  end
  local used, heldNow = fields[2] or '0', fields[3] or '0'
  local at = int(index)
  if not refusal and fields[4] then refusal = { 'disabled_subject', at } end
  if not refusal and limit == '' then refusal = { 'unknown_subject', at } end
  if not refusal then
    local most, amount = limitWithExtra(limit, fields[5] or '0'), tonumber(line.requested)
    -- A hold of nothing is granted even in debt.
    if amount > 0 and most - used - heldNow < amount then
      refusal = { 'insufficient', at, int(most), used, heldNow }
    elseif line.cap ~= '' then
      local running = redis.call('ZCARD', subjectKey(line.row))
        - redis.call('SCARD', idleKey(line.row))
      if running >= tonumber(line.cap) then refusal = { 'too_many_in_flight', at } end
    end
  end
end
if refusal then return refusal end

local reservation = { id = id, key = base .. 'r:' .. id, lines = lines }
redis.call('HSET', reservation.key, 'state', 'held')
writeLines(reservation)
setDue(reservation, now + ttlMs)
for _, line in ipairs(lines) do
  if line.limit ~= '' then
    redis.call('HSET', rowKey(line.row), 'limit', line.limit, 'carried', '1')
  end
  add(line.row, 'held', line.requested)
  add(line.row, 'inFlight', 1)
  add(line.row, 'version', 1)
end
return held('0', now + ttlMs)
`);

/**
 * ARGV: endedTtlMs, count; by lease: id, ttlMs, idle `1` or '', number of added amounts or '', the
 * amounts. Replies one item per lease, or `misfit` without any change where the number of added
 * amounts is not the number of a hold's lines.
 */
export const extendScript: Script = scriptOf(`${quotaPrelude}
local count, at = tonumber(ARGV[2]), 3
local extensions = {}
for index = 1, count do
  local lease = { id = ARGV[at], ttlMs = tonumber(ARGV[at + 1]), idle = ARGV[at + 2] == '1' }
  if ARGV[at + 3] ~= '' then
    lease.add = {}
    for step = 1, tonumber(ARGV[at + 3]) do lease.add[step] = ARGV[at + 3 + step] end
  end
  extensions[index] = lease
  at = at + 4 + (lease.add and #lease.add or 0)
end

for _, lease in ipairs(extensions) do
  local known = lease.add and find(lease.id)
  if known and known.state == 'held' and #lease.add ~= #known.lines then return { 'misfit' } end
end

local function grow(reservation, amounts)
  for index, line in ipairs(reservation.lines) do
    local limit, used, held = balance(line.row)
    local amount = tonumber(amounts[index])
    if amount > 0 and limit - used - held < amount then
      return { 'insufficient', string.match(line.row, '^[^|]+'), limit, used, held }
    end
  end
  for index, line in ipairs(reservation.lines) do
    if amounts[index] ~= '0' then
      line.held = int(line.held + amounts[index])
      add(line.row, 'held', amounts[index])
      add(line.row, 'version', 1)
    end
  end
  writeLines(reservation)
  return nil
end

-- The call no longer runs, but its money stays held.
local function makeIdle(reservation)
  redis.call('HSET', reservation.key, 'idle', '1')
  for _, line in ipairs(reservation.lines) do
    redis.call('SADD', idleKey(line.row), reservation.id)
    add(line.row, 'inFlight', -1)
    add(line.row, 'version', 1)
  end
end

local function extend(lease)
  local reservation = findAsOfNow(lease.id)
  if not reservation then return { 'gone', 'unknown' } end
  if reservation.state ~= 'held' then return { 'gone', reservation.state } end
  -- A delayed renewal with a short lease must not shorten a long one.
  local dueAt = math.max(reservation.dueAt, now + lease.ttlMs)
  -- A full server refuses a first write that may take memory; removing first lets a hold renew.
  redis.call('ZREM', leases, lease.id)
  setDue(reservation, dueAt)
  if lease.idle and not reservation.idle then makeIdle(reservation) end
  local rows = {}
  for index, line in ipairs(reservation.lines) do rows[index] = line.row end
  expireDueOf(rows)
  return lease.add and grow(reservation, lease.add) or { 'held', int(dueAt) }
end

local replies = {}
for index, lease in ipairs(extensions) do replies[index] = extend(lease) end
return replies
`);

/** ARGV: endedTtlMs, id, count; by line: subject|period, amount. */
export const settleScript: Script = scriptOf(`${quotaPrelude}
local id, count = ARGV[2], tonumber(ARGV[3])
local rows, amounts = {}, {}
for index = 1, count do
  rows[index], amounts[index] = ARGV[2 * index + 2], ARGV[2 * index + 3]
end

expireDueOf(rows)
local known = findAsOfNow(id)
if known and known.state == 'settled' then return { 'already', known.charged } end
if known and known.state == 'released' then return { 'conflict' } end

-- Above 2^63 an addition would fail after the earlier lines have been written.
for index, row in ipairs(rows) do
  local used = redis.call('HGET', rowKey(row), 'used') or '0'
  if used + amounts[index] > 9.2e18 then return { 'overflow' } end
end

-- A full server accepts this first write, so that it can still charge calls that have run.
redis.call('ZREM', leases, id)
if known and known.state == 'held' then giveBack(known) end
for index, row in ipairs(rows) do
  add(row, 'used', amounts[index])
  add(row, 'version', 1)
end
if known and known.state == 'expired' then
  -- The final charge includes what the expiry charged.
  for _, line in ipairs(known.lines) do add(line.row, 'used', int(-line.onExpire)) end
end
buryBare(base .. 'r:' .. id, 'settled', table.concat(amounts, ' '))
local reply = { 'settled', '' }
if not known then reply = { 'settled_late', 'unknown' } end
if known and known.state == 'expired' then reply = { 'settled_late', 'expired' } end
for _, row in ipairs(rows) do
  local limit, used = balance(row)
  reply[#reply + 1] = limit
  reply[#reply + 1] = used
end
return reply
`);

/** ARGV: endedTtlMs, id, count; by line: subject|period. */
export const releaseScript: Script = scriptOf(`${quotaPrelude}
local id, rows = ARGV[2], {}
for index = 1, tonumber(ARGV[3]) do rows[index] = ARGV[3 + index] end

expireDueOf(rows)
local known = findAsOfNow(id)
if known and known.state ~= 'held' then return { 'already', known.state } end
if known then giveBack(known) end
-- A release that overtakes its reserve blocks it.
buryBare(base .. 'r:' .. id, 'released', '')
return { 'released' }
`);

/** ARGV: endedTtlMs, max. Replies with how many have expired, and whether more are due. */
export const sweepScript: Script = scriptOf(`${quotaPrelude}
local expired = expireDue(leases, ARGV[2])
local more = redis.call('ZRANGEBYSCORE', leases, '-inf', int(now), 'LIMIT', 0, 1)
return { int(expired), int(#more) }
`);

const stateReply = `
local function state(row)
  local fields = redis.call(
    'HMGET', rowKey(row), 'limit', 'used', 'held', 'inFlight', 'disabled', 'version', 'extra')
  if not fields[6] then return { 'none' } end
  return {
    'row', fields[1] or '0', fields[2] or '0', fields[3] or '0', fields[4] or '0',
    fields[5] and '0' or '1', fields[6], fields[7] or '0',
  }
end
`;

/** ARGV: endedTtlMs, subject|period. */
export const readScript: Script = scriptOf(`${quotaPrelude}${stateReply}
expireDueOf({ ARGV[2] })
return state(ARGV[2])
`);

/** ARGV: endedTtlMs, id, subject|period, limit or '', addLimit or '', enabled `1`, `0` or ''. */
export const adjustScript: Script = scriptOf(`${quotaPrelude}${stateReply}
local done, row = base .. 'a:' .. ARGV[2], ARGV[3]
local result = function(replay)
  local reply = state(row)
  reply[9] = replay
  return reply
end
expireDueOf({ row })
if redis.call('EXISTS', done) == 1 then
  -- Creates the row where there is none, as an adjustment always does.
  add(row, 'version', 0)
  return result('1')
end

local fields = redis.call('HMGET', rowKey(row), 'limit', 'extra', 'carried')
if ARGV[4] ~= '' and fields[3] == '1' then return { 'carried' } end
local limit = ARGV[4] ~= '' and ARGV[4] or fields[1]
if ARGV[5] ~= '' then
  local extra = (fields[2] or 0) + ARGV[5]
  if math.abs(extra) > ${maxNanos} then return { 'refused' } end
  redis.call('HSET', rowKey(row), 'extra', int(extra))
  -- An addition to a row without a limit counts from a limit of zero.
  limit = limit or '0'
end
if limit then redis.call('HSET', rowKey(row), 'limit', limit) end
if ARGV[6] == '1' then redis.call('HDEL', rowKey(row), 'disabled') end
if ARGV[6] == '0' then redis.call('HSET', rowKey(row), 'disabled', '1') end
add(row, 'version', 1)
-- Without a TTL: a payment may be reported again after days.
redis.call('SET', done, '1')
return result('0')
`);

/** KEYS: the set of partitions. ARGV: a partition to add, or nothing to list them all. */
export const partitionsScript: Script = scriptOf(`
if ARGV[1] then
  redis.call('SADD', KEYS[1], ARGV[1])
  return { ARGV[1] }
end
return redis.call('SMEMBERS', KEYS[1])
`);

/**
 * Runs every command that the scripts above use, then replies with INFO. This shows at start-up
 * whether the server accepts writes and the user has all permissions, not only during a settle.
 */
export const checkScript: Script = scriptOf(`
local probe = KEYS[1] .. 'probe'
redis.call('SET', probe, '1')
redis.call('PEXPIRE', probe, 1000)
redis.call('EXISTS', probe)
redis.call('TIME')
redis.call('DEL', probe)
redis.call('HSET', probe, 'field', '1')
redis.call('HSETNX', probe, 'field', '1')
redis.call('HINCRBY', probe, 'field', 1)
redis.call('HGET', probe, 'field')
redis.call('HMGET', probe, 'field')
redis.call('HDEL', probe, 'field')
redis.call('ZADD', probe, 1, 'member')
redis.call('ZSCORE', probe, 'member')
redis.call('ZCARD', probe)
redis.call('ZRANGEBYSCORE', probe, '-inf', 1, 'LIMIT', 0, 1)
redis.call('ZREM', probe, 'member')
redis.call('SADD', probe, 'member')
redis.call('SCARD', probe)
redis.call('SMEMBERS', probe)
redis.call('SREM', probe, 'member')
redis.call('DEL', probe)
return {
  redis.call('INFO', 'server'), redis.call('INFO', 'memory'), redis.call('INFO', 'persistence'),
}
`);
