/**
 * A rate limiter in Redis, for any number of processes, by GCRA (ITU-T I.371): one number a
 * subject, the time at which its allowance is whole again.
 */
import { z } from 'zod';
import type { RateDecision, RateLimiter } from '../../ports/rate-limiter.ts';
import { checkMakerOptions, positive } from '../../ports/set-up.ts';
import { type RedisClient, type RunScript, scriptRunner } from './client.ts';
import { patiently } from './patience.ts';
import { countOf, textsOf, wordOf } from './reply.ts';
import { type Script, scriptOf } from './script.ts';
import { aPrefix, aRedisClient, cures, defaultPrefix } from './set-up.ts';

/** How many points a subject may take in which time. */
export interface RedisRateLimiterOptions {
  /** Connected by the host, and closed by it. */
  readonly client: RedisClient;
  /** How many points a subject may spend at once; they come back evenly over `durationMs`. */
  readonly points: number;
  readonly durationMs: number;
  /** What every key begins with; `tollgate` where left out. Alike limiters share their counts. */
  readonly prefix?: string;
}

const optionsSchema = z.strictObject(
  {
    client: aRedisClient,
    points: positive,
    durationMs: positive,
    prefix: aPrefix.optional(),
  } satisfies Record<keyof RedisRateLimiterOptions, z.ZodType>,
  'must be an object',
);

/**
 * A rate limiter in Redis, with the meaning of `memoryRateLimiter`: a refused call takes nothing.
 * A subject is forgotten as soon as its allowance is whole.
 *
 * `consume` throws a RangeError where `points` could never be granted: above the allowance, or not
 * positive.
 *
 * @throws ConfigurationError that names the option and the cure
 */
export function redisRateLimiter(options: RedisRateLimiterOptions): RateLimiter {
  checkMakerOptions('redisRateLimiter', optionsSchema, options, {
    ...cures,
    points: 'Say how many points a subject may spend at once',
    durationMs: 'Say over how many ms they come back',
  });
  return rateLimiterOver(scriptRunner(options.client), options);
}

/** The same over whatever runs scripts. */
export function rateLimiterOver(
  run: RunScript,
  options: Omit<RedisRateLimiterOptions, 'client'>,
): RateLimiter {
  const { points: allowance, durationMs, prefix = defaultPrefix } = options;

  return {
    consume: async (subject, points): Promise<RateDecision> => {
      if (!(points > 0 && points <= allowance)) {
        throw new RangeError(`points must be above 0 and at most ${allowance}`);
      }
      const key = `${prefix}:rate:${allowance}/${durationMs}:${subject}`;
      // Whole microseconds, rounded in the caller's favour: the last of the points must fit.
      const costUs = Math.floor((points * durationMs * 1_000) / allowance);
      const words = [String(costUs), String(durationMs)];
      const call = { script: consumeScript, keys: [key], words };
      const reply = await patiently(undefined, (signal) => run(call, signal));
      const [granted, retryAfterMs] = textsOf(reply);
      return wordOf(granted, ['1', '0']) === '1'
        ? { granted: true }
        : { granted: false, retryAfterMs: countOf(retryAfterMs) };
    },
  };
}

/** KEYS: the subject. ARGV: the cost in µs, the whole time in ms. */
const consumeScript: Script = scriptOf(`
local cost, durationUs = tonumber(ARGV[1]), ARGV[2] * 1000
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local wholeAt = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now) + cost
local retryAfterMs = math.ceil((wholeAt - durationUs - now) / 1000)
if retryAfterMs > 0 then return { '0', string.format('%.0f', retryAfterMs) } end
local ttl = math.max(1, math.ceil((wholeAt - now) / 1000))
redis.call('SET', KEYS[1], string.format('%.0f', wholeAt), 'PX', string.format('%.0f', ttl))
return { '1' }
`);
