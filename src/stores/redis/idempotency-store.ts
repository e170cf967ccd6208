/** An idempotency store in Redis, shared by any number of processes. It holds no bodies. */
import { z } from 'zod';
import type {
  AbandonResult,
  ClaimResult,
  FinishResult,
  IdempotencyStore,
} from '../../ports/idempotency-store.ts';
import { checkMakerOptions } from '../../ports/set-up.ts';
import { type RedisClient, type RunScript, scriptRunner } from './client.ts';
import { withDeadline } from './deadline.ts';
import { abandonScript, claimScript, finishScript } from './idempotency-scripts.ts';
import { corrupt, countOf, literalOf, textsOf } from './reply.ts';
import { aPrefix, aRedisClient, defaultPrefix, remedies } from './set-up.ts';

/** The client and the prefix of the keys. */
export interface RedisIdempotencyStoreOptions {
  /** Connected and closed by the host. */
  readonly client: RedisClient;
  /** Prefix of every key. Default: `tollgate`. */
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

/** The same store over a function that runs scripts. */
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
