/**
 * The operations of the Redis idempotency store, one script each. A record is a hash with a TTL
 * under a key made from its name. Fields: state, fingerprint, claimId, requestId, status, and in
 * Unix ms claimedAt, endedAt, leaseEndsAt and forgetAt.
 */
import { type Script, scriptOf } from './script.ts';

const prelude = `
local key = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function ms(x)
  return string.format('%.0f', x)
end

-- The TTL only frees the memory; the time in the record decides.
local function isKept(forgetAt)
  return forgetAt and tonumber(forgetAt) > now
end

local function isOpen(claimId)
  local fields = redis.call('HMGET', key, 'forgetAt', 'claimId', 'state')
  return isKept(fields[1]) and fields[2] == claimId and fields[3] == 'running'
end
`;

/** ARGV: claimId, ifTaken, fingerprint, requestId, leaseMs, keepMs. */
export const claimScript: Script = scriptOf(`${prelude}
local claimId, ifTaken = ARGV[1], ARGV[2]
-- A client that lost the reply has sent its claim again: it still owns the claim.
if isOpen(claimId) then return { 'claimed' } end

local fields = redis.call('HMGET', key, 'state', 'fingerprint', 'claimId', 'requestId', 'status',
  'claimedAt', 'endedAt', 'leaseEndsAt', 'forgetAt')
if isKept(fields[9]) and ifTaken == 'answer' then
  local state = fields[1]
  -- The lease has run out: the gateway crashed and the call may have run.
  if state == 'running' and tonumber(fields[8]) <= now then state = 'unknown' end
  return { 'taken', state, fields[2], fields[3], fields[4], fields[5] or '', fields[6],
    fields[7] or '' }
end

local leaseEndsAt = now + ARGV[5]
local forgetAt = ms(leaseEndsAt + ARGV[6])
-- HSET comes first: a full server refuses it, and thus every new claim.
redis.call('HSET', key, 'state', 'running', 'fingerprint', ARGV[3], 'claimId', claimId,
  'requestId', ARGV[4], 'claimedAt', ms(now), 'leaseEndsAt', ms(leaseEndsAt),
  'forgetAt', forgetAt)
redis.call('HDEL', key, 'status', 'endedAt')
redis.call('PEXPIREAT', key, forgetAt)
return { 'claimed' }
`);

/** ARGV: claimId, state, status, keepMs. */
export const finishScript: Script = scriptOf(`${prelude}
if not isOpen(ARGV[1]) then return { 'gone' } end
local forgetAt = ms(now + ARGV[4])
redis.call('HSET', key, 'state', ARGV[2], 'status', ARGV[3], 'endedAt', ms(now),
  'forgetAt', forgetAt)
redis.call('PEXPIREAT', key, forgetAt)
return { 'finished' }
`);

/** ARGV: claimId. */
export const abandonScript: Script = scriptOf(`${prelude}
if not isOpen(ARGV[1]) then return { 'gone' } end
redis.call('DEL', key)
return { 'abandoned' }
`);
