/**
 * A rate limiter in Redis, shared by any number of processes, by GCRA (ITU-T I.371): it keeps one
 * number per subject, the time at which its allowance is full again.
 */
import { z } from 'zod';
import type { RateDecision, RateLimiter } from '../../ports/rate-limiter.ts';
import { checkMakerOptions, positive } from '../../ports/set-up.ts';
import { type RedisClient, type RunScript, scriptRunner } from './client.ts';
import { withDeadline } from './deadline.ts';
import { countOf, literalOf, textsOf } from './reply.ts';
import { type Script, scriptOf } from './script.ts';
import { aPrefix, aRedisClient, defaultPrefix, remedies } from './set-up.ts';

/** The client, how many points a subject may spend, and how fast they come back. */
export interface RedisRateLimiterOptions {
  /** Connected and closed by the host. */
  readonly client: RedisClient;
  /** How many points a subject may spend at once; they come back evenly over `durationMs`. */
  readonly points: number;
  readonly durationMs: number;
  /** Prefix of every key. Default: `tollgate`. Limiters with the same settings share counts. */
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
 * A rate limiter in Redis that behaves like `memoryRateLimiter`: a refused call takes no points. A
 * subject's key expires as soon as its allowance is full.
 *
 * `consume` throws a RangeError where `points` is not positive or is above the allowance.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function redisRateLimiter(options: RedisRateLimiterOptions): RateLimiter {
  checkMakerOptions('redisRateLimiter', optionsSchema, options, {
    ...remedies,
    points: 'Say how many points a subject may spend at once',
    durationMs: 'Say over how many ms they come back',
  });
  return rateLimiterOver(scriptRunner(options.client), options);
}

/** The same limiter over a function that runs scripts. */
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
      // Whole microseconds, rounded down, so that the whole allowance can be spent.
      const costUs = Math.floor((points * durationMs * 1_000) / allowance);
      const args = [String(costUs), String(durationMs)];
      const call = { script: consumeScript, keys: [key], args };
      const reply = await withDeadline(undefined, (signal) => run(call, signal));
      const [granted, retryAfterMs] = textsOf(reply);
      return literalOf(granted, ['1', '0']) === '1'
        ? { granted: true }
        : { granted: false, retryAfterMs: countOf(retryAfterMs) };
    },
  };
}

/** KEYS: the subject's key. ARGV: the cost in µs, `durationMs`. */
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
