/** A rate limiter in Redis: token buckets that any number of processes share. */
import { z } from 'zod';
import { checkAdjustments, checkTakes } from '../../ports/rate-input.ts';
import type { RateDecision, RateLimiter, RateTake } from '../../ports/rate-limiter.ts';
import { checkMakerOptions } from '../../ports/set-up.ts';
import { type RedisClient, type RunScript, scriptRunner } from './client.ts';
import { withDeadline } from './deadline.ts';
import { adjustScript, takeScript } from './rate-scripts.ts';
import { countOf, literalOf, textsOf } from './reply.ts';
import type { Script } from './script.ts';
import { aPrefix, aRedisClient, defaultPrefix, escaped, remedies } from './set-up.ts';

/** The client, and where the buckets are. */
export interface RedisRateLimiterOptions {
  /** Connected and closed by the host. */
  readonly client: RedisClient;
  /** Prefix of every key. Default: `tollgate`. */
  readonly prefix?: string;
}

const optionsSchema = z.strictObject(
  {
    client: aRedisClient,
    prefix: aPrefix.optional(),
  } satisfies Record<keyof RedisRateLimiterOptions, z.ZodType>,
  'must be an object',
);

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

/** The same limiter over a function that runs scripts. */
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

/** A script for the buckets of one owner. */
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
