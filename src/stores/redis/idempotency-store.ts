/** An idempotency store in Redis, shared by any number of processes. It holds no bodies. */
import type { z } from 'zod';
import type {
  AbandonResult,
  ClaimResult,
  FinishResult,
  IdempotencyStore,
} from '../../ports/replies/idempotency-store.ts';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { type RedisClient, type RunScript, type Script, scriptOf, scriptRunner } from './client.ts';
import { withDeadline } from './deadline.ts';
import { corrupt, countOf, literalOf, textsOf } from './reply.ts';
import { aPrefix, aRedisClient, defaultPrefix, remedies } from './set-up.ts';

/**
 * A record is a hash with a TTL under a key made from its name. Fields: state, fingerprint,
 * claimId, requestId, status, and in Unix ms claimedAt, endedAt, leaseEndsAt and forgetAt.
 */
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
const claimScript: Script = scriptOf(`${prelude}
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
const finishScript: Script = scriptOf(`${prelude}
if not isOpen(ARGV[1]) then return { 'gone' } end
local forgetAt = ms(now + ARGV[4])
redis.call('HSET', key, 'state', ARGV[2], 'status', ARGV[3], 'endedAt', ms(now),
  'forgetAt', forgetAt)
redis.call('PEXPIREAT', key, forgetAt)
return { 'finished' }
`);

/** ARGV: claimId. */
const abandonScript: Script = scriptOf(`${prelude}
if not isOpen(ARGV[1]) then return { 'gone' } end
redis.call('DEL', key)
return { 'abandoned' }
`);

/** The client and the prefix of the keys. */
export interface RedisIdempotencyStoreOptions {
  /** Connected and closed by the host. */
  readonly client: RedisClient;
  /** Prefix of every key. Default: `tollgate`. */
  readonly prefix?: string;
}

const optionsSchema = strict('must be an object', {
  client: aRedisClient,
  prefix: aPrefix.optional(),
} satisfies Record<keyof RedisIdempotencyStoreOptions, z.ZodType>);

/**
 * An idempotency store in Redis 6.2 or newer; one script for each operation. Each record is kept
 * for its full time: a full server refuses new claims instead of forgetting old ones.
 *
 * Repeating a claim with the same `claimId` while it runs returns `claimed` again, since a client
 * may resend a command whose reply it lost.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function redisIdempotencyStore(options: RedisIdempotencyStoreOptions): IdempotencyStore {
  checkMakerOptions('redisIdempotencyStore', optionsSchema, options, remedies);
  return idempotencyStoreOver(scriptRunner(options.client), options);
}

export function idempotencyStoreOver(
  run: RunScript,
  { prefix = defaultPrefix }: Omit<RedisIdempotencyStoreOptions, 'client'>,
): IdempotencyStore {
  const keyOf = (name: string): string => `${prefix}:claim:${name}`;

  return {
    claim: async (input, options): Promise<ClaimResult> => {
      const { name, claimId, ifTaken, fingerprint, requestId, leaseMs, keepMs } = input;
      const args = [claimId, ifTaken, fingerprint, requestId, msOf(leaseMs), msOf(keepMs)];
      const call = { script: claimScript, keys: [keyOf(name)], args };
      return readClaim(await withDeadline(options, (signal) => run(call, signal)));
    },
    finish: async (input, options): Promise<FinishResult> => {
      const { name, claimId, state, httpStatus, keepMs } = input;
      const args = [claimId, state, String(httpStatus), msOf(keepMs)];
      const call = { script: finishScript, keys: [keyOf(name)], args };
      const [status] = textsOf(await withDeadline(options, (signal) => run(call, signal)));
      return { status: literalOf(status, ['finished', 'gone']) };
    },
    abandon: async ({ name, claimId }, options): Promise<AbandonResult> => {
      const call = { script: abandonScript, keys: [keyOf(name)], args: [claimId] };
      const [status] = textsOf(await withDeadline(options, (signal) => run(call, signal)));
      return { status: literalOf(status, ['abandoned', 'gone']) };
    },
  };
}

function readClaim(reply: unknown): ClaimResult {
  const [status, ...fields] = textsOf(reply);
  if (status === 'claimed') return { status };
  if (status !== 'taken') return corrupt();
  const [state, fingerprint, claimId, requestId, httpStatus, claimedAt, endedAt] = fields;
  return {
    status,
    record: {
      state: literalOf(state, ['running', 'done', 'unknown']),
      fingerprint: fingerprint ?? corrupt(),
      claimId: claimId ?? corrupt(),
      requestId: requestId ?? corrupt(),
      status: countOrNone(httpStatus),
      claimedAtMs: countOf(claimedAt),
      endedAtMs: countOrNone(endedAt),
    },
  };
}

function countOrNone(text: string | undefined): number | undefined {
  return text === '' ? undefined : countOf(text);
}

/** Rounded up: a TTL is a whole number, and no lease may end early. */
function msOf(ms: number): string {
  if (!(ms >= 0 && ms <= Number.MAX_SAFE_INTEGER)) {
    throw new RangeError('leaseMs and keepMs of a claim must be numbers of ms from 0');
  }
  return String(Math.ceil(ms));
}
