/** Claims in Redis, for any number of processes: which calls have run, never what they said. */
import { z } from 'zod';
import type {
  AbandonResult,
  ClaimResult,
  FinishResult,
  IdempotencyStore,
} from '../../ports/idempotency-store.ts';
import { checkMakerOptions } from '../../ports/set-up.ts';
import { type RedisClient, type RunScript, scriptRunner } from './client.ts';
import { abandonScript, claimScript, finishScript } from './idempotency-scripts.ts';
import { patiently } from './patience.ts';
import { corrupt, countOf, textsOf, wordOf } from './reply.ts';
import { aPrefix, aRedisClient, cures, defaultPrefix } from './set-up.ts';

/** The client, and what may be said beside it. */
export interface RedisIdempotencyStoreOptions {
  /** Connected by the host, and closed by it. */
  readonly client: RedisClient;
  /** What every key begins with; `tollgate` where left out. */
  readonly prefix?: string;
}

const optionsSchema = z.strictObject(
  {
    client: aRedisClient,
    prefix: aPrefix.optional(),
  } satisfies Record<keyof RedisIdempotencyStoreOptions, z.ZodType>,
  'must be an object',
);

/**
 * An idempotency store in Redis 6.2 or newer; one script for each operation. Records are kept as
 * long as they are asked to be: a full server refuses new claims, it forgets none.
 *
 * A claim sent again with the same `claimId` is `claimed` again while it runs: a client may resend
 * what it had no reply to.
 *
 * @throws ConfigurationError that names the option and the cure
 */
export function redisIdempotencyStore(options: RedisIdempotencyStoreOptions): IdempotencyStore {
  checkMakerOptions('redisIdempotencyStore', optionsSchema, options, cures);
  return idempotencyStoreOver(scriptRunner(options.client), options);
}

/** The same over whatever runs scripts. */
export function idempotencyStoreOver(
  run: RunScript,
  { prefix = defaultPrefix }: Omit<RedisIdempotencyStoreOptions, 'client'>,
): IdempotencyStore {
  const keyOf = (name: string): string => `${prefix}:claim:${name}`;

  return {
    claim: async (input, options): Promise<ClaimResult> => {
      const { name, claimId, ifTaken, fingerprint, requestId, leaseMs, keepMs } = input;
      const words = [claimId, ifTaken, fingerprint, requestId, msOf(leaseMs), msOf(keepMs)];
      const call = { script: claimScript, keys: [keyOf(name)], words };
      return readClaim(await patiently(options, (signal) => run(call, signal)));
    },
    finish: async (input, options): Promise<FinishResult> => {
      const { name, claimId, state, httpStatus, keepMs } = input;
      const words = [claimId, state, String(httpStatus), msOf(keepMs)];
      const call = { script: finishScript, keys: [keyOf(name)], words };
      const [status] = textsOf(await patiently(options, (signal) => run(call, signal)));
      return { status: wordOf(status, ['finished', 'gone']) };
    },
    abandon: async ({ name, claimId }, options): Promise<AbandonResult> => {
      const call = { script: abandonScript, keys: [keyOf(name)], words: [claimId] };
      const [status] = textsOf(await patiently(options, (signal) => run(call, signal)));
      return { status: wordOf(status, ['abandoned', 'gone']) };
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
      state: wordOf(state, ['running', 'done', 'unknown']),
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

/** A TTL is whole, and a part of a ms must not cut a lease short. */
function msOf(ms: number): string {
  if (!(ms >= 0 && ms <= Number.MAX_SAFE_INTEGER)) {
    throw new RangeError('a claim is kept for a number of ms from 0');
  }
  return String(Math.ceil(ms));
}
