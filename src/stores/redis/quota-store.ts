/** Quota in Redis, for any number of processes: what a host says to make one. */
import { z } from 'zod';
import type { QuotaStore } from '../../ports/quota-store.ts';
import { checkMakerOptions, oneOf, positive } from '../../ports/set-up.ts';
import { type RedisClient, scriptLoader, scriptRunner } from './client.ts';
import { quotaStoreOver } from './quota-operations.ts';
import {
  adjustScript,
  extendScript,
  readScript,
  releaseScript,
  reserveScript,
  settleScript,
  sweepScript,
} from './quota-scripts.ts';
import { aPrefix, aQuotaClient, cures, defaultPrefix } from './set-up.ts';

/** The client, and what may be said beside it. */
export interface RedisQuotaStoreOptions {
  /** Connected by the host, and closed by it. */
  readonly client: RedisClient;
  /** What every key begins with; `tollgate` where left out. */
  readonly prefix?: string;
  /** How long an ended reservation is remembered for repeats; an hour where left out. */
  readonly endedTtlMs?: number;
  /**
   * `replica-async`, the default: a failover may lose what the replica had not seen. `durable` is
   * right for one server, without failover, with `appendonly yes` and `appendfsync always`.
   */
  readonly durability?: 'replica-async' | 'durable';
}

/** Sent by `check`, ahead of the first call that needs them. */
const quotaScripts = [
  ...[reserveScript, extendScript, settleScript, releaseScript],
  ...[sweepScript, readScript, adjustScript],
];

const durabilities = ['replica-async', 'durable'] as const;

const optionsSchema = z.strictObject(
  {
    client: aQuotaClient,
    prefix: aPrefix.optional(),
    endedTtlMs: positive.optional(),
    durability: z.enum(durabilities, oneOf(durabilities)).optional(),
  } satisfies Record<keyof RedisQuotaStoreOptions, z.ZodType>,
  'must be an object',
);

/**
 * A quota store in Redis 6.2 or newer. Each operation is one script on the server, so that no two
 * of them meet; leases end by the server's clock.
 *
 * Balances and holds never expire; the server must not evict (`check` looks).
 *
 * @throws ConfigurationError that names the option and the cure
 */
export function redisQuotaStore(options: RedisQuotaStoreOptions): QuotaStore {
  checkMakerOptions('redisQuotaStore', optionsSchema, options, cures);
  const { client, prefix = defaultPrefix, endedTtlMs = 3_600_000 } = options;
  const { durability = 'replica-async' } = options;
  const load = scriptLoader(client, quotaScripts);
  return quotaStoreOver(scriptRunner(client), { prefix, endedTtlMs, durability }, load);
}
