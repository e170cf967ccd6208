/** A rate limiter in Redis: token buckets that any number of processes share. */
import type { z } from 'zod';
import type { RateDecision, RateLimiter, RateTake } from '../../ports/limits/rate-limiter.ts';
import { checkAdjustments, checkTakes } from '../../ports/limits/rates-schema.ts';
import { checkMakerOptions, strict } from '../../ports/set-up.ts';
import { type RedisClient, type RunScript, type Script, scriptOf, scriptRunner } from './client.ts';
import { withDeadline } from './deadline.ts';
import { countOf, literalOf, textsOf } from './reply.ts';
import { aPrefix, aRedisClient, defaultPrefix, escaped, remedies } from './set-up.ts';

/**
 * The scripts do in Lua what `stores/memory/token-bucket.ts` does: time counts in ticks of
 * 1/60,000 of the period, and amounts in parts of 1/60,000, so that a bucket refills by `limit`
 * parts in each tick and all numbers are integers. A bucket is a string of three numbers,
 * `used tick limit`.
 *
 * This part reads the buckets in KEYS as they are now; ARGV has three numbers for each: its limit,
 * the amount and the ms of a tick, from the second argument on.
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
const takeScript: Script = scriptOf(`
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
const adjustScript: Script = scriptOf(`
${readBuckets}
for _, bucket in ipairs(buckets) do
  bucket.used = math.min(bucket.used + bucket.amount * parts, bucket.limit * parts)
  write(bucket)
end
return { '1' }
`);

/** The client, and where the buckets are. */
export interface RedisRateLimiterOptions {
  /** Connected and closed by the host. */
  readonly client: RedisClient;
  /** Prefix of every key. Default: `tollgate`. */
  readonly prefix?: string;
}

const optionsSchema = strict('must be an object', {
  client: aRedisClient,
  prefix: aPrefix.optional(),
} satisfies Record<keyof RedisRateLimiterOptions, z.ZodType>);

/**
 * A rate limiter in Redis that decides like `memoryRateLimiter`, by the server's clock. The buckets
 * of one owner are on one node of a cluster and change in one script; those of several owners
 * change one owner after the other. A bucket's key expires soon after it is full.
 *
 * `take` and `adjust` throw a RangeError where an amount or a limit is outside its range.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function redisRateLimiter(options: RedisRateLimiterOptions): RateLimiter {
  checkMakerOptions('redisRateLimiter', optionsSchema, options, remedies);
  return rateLimiterOver(scriptRunner(options.client), options.prefix);
}

export function rateLimiterOver(run: RunScript, prefix: string = defaultPrefix): RateLimiter {
  const runOn: RunOnOwner = async ({ script, mode, takes }, signal) => {
    const keys = takes.map(({ owner, bucket }) => `${prefix}:rate:{${escaped(owner)}}:${bucket}`);
    const args = [mode, ...takes.flatMap(argumentsOf)];
    return textsOf(await run({ script, keys, args }, signal));
  };

  return {
    take: async (takes, options) => {
      checkTakes(takes);
      return withDeadline(options, (signal) => takeAll(takes, runOn, signal));
    },
    adjust: async (takes, options) => {
      checkAdjustments(takes);
      await withDeadline(options, (signal) => adjustAll(takes, runOn, signal));
    },
  };
}

interface OwnerCall {
  readonly script: Script;
  readonly mode: 'take' | 'look' | 'adjust';
  readonly takes: readonly RateTake[];
}

type RunOnOwner = (call: OwnerCall, signal: AbortSignal) => Promise<readonly string[]>;

function argumentsOf({ limit, amount, periodMs }: RateTake): readonly string[] {
  return [`${limit}`, `${amount}`, `${periodMs / 60_000}`];
}

async function takeAll(
  takes: readonly RateTake[],
  runOn: RunOnOwner,
  signal: AbortSignal,
): Promise<RateDecision> {
  const decisions: RateDecision[] = [];
  const taken: RateTake[] = [];
  let isRefused = false;
  try {
    for (const own of byOwner(takes)) {
      // After one owner has refused, the others only report how long they would refuse.
      const mode = isRefused ? 'look' : 'take';
      const reply = await runOn({ script: takeScript, mode, takes: own }, signal);
      const decision = decisionOf(reply, own.length);
      decisions.push(decision);
      if (!decision.granted) isRefused = true;
      else if (mode === 'take') taken.push(...own);
    }
  } catch (error) {
    void giveBack(taken, runOn).catch(nothingToDo);
    throw error;
  }
  if (!isRefused) return combined(decisions);
  await giveBack(taken, runOn).catch(nothingToDo);
  const { remaining, ...refusal } = combined(decisions);
  // What was given back remains again. These are the first takes, since the owners are in order.
  const given = taken.map(({ amount }) => amount);
  return { ...refusal, remaining: remaining.map((left, index) => left + (given[index] ?? 0)) };
}

/** Gives back the amounts of owners that granted, even after the deadline of the call. */
async function giveBack(taken: readonly RateTake[], runOn: RunOnOwner): Promise<void> {
  const negative = taken.map((take) => ({ ...take, amount: -take.amount }));
  await withDeadline(undefined, (signal) => adjustAll(negative, runOn, signal));
}

/** A bucket that did not get its amount back refills by itself. */
function nothingToDo(): void {}

async function adjustAll(
  takes: readonly RateTake[],
  runOn: RunOnOwner,
  signal: AbortSignal,
): Promise<void> {
  const calls = byOwner(takes).map(async (own) => {
    const [done] = await runOn({ script: adjustScript, mode: 'adjust', takes: own }, signal);
    literalOf(done, ['1']);
  });
  await Promise.all(calls);
}

/** The takes of each owner, in their order; those of one owner follow one another. */
function byOwner(takes: readonly RateTake[]): readonly (readonly RateTake[])[] {
  const owners: RateTake[][] = [];
  for (const take of takes) {
    const latest = owners.at(-1);
    if (latest?.[0]?.owner === take.owner) latest.push(take);
    else owners.push([take]);
  }
  return owners;
}

/** @throws StoreCorrupt where the reply is not in the script's format */
function decisionOf(reply: readonly string[], count: number): RateDecision {
  const isGranted = literalOf(reply[0], ['1', '0']) === '1';
  const amounts = reply.slice(isGranted ? 1 : 3);
  const remaining = Array.from({ length: count }, (_, index) => countOf(amounts[index]));
  if (isGranted) return { granted: true, remaining };
  const refused = countOf(reply[1]) - 1;
  return { granted: false, refused, retryAfterMs: countOf(reply[2]), remaining };
}

/** The decision over all owners: refused if one refused, until the last of them grants. */
function combined(decisions: readonly RateDecision[]): RateDecision {
  const remaining = decisions.flatMap((decision) => decision.remaining);
  let refused = -1;
  let retryAfterMs = 0;
  let offset = 0;
  for (const decision of decisions) {
    if (!decision.granted && decision.retryAfterMs > retryAfterMs) {
      refused = offset + decision.refused;
      retryAfterMs = decision.retryAfterMs;
    }
    offset += decision.remaining.length;
  }
  return refused === -1
    ? { granted: true, remaining }
    : { granted: false, refused, retryAfterMs, remaining };
}
