/** The maker of the quota store in Redis, which any number of processes share. */
import { z } from 'zod';
import type { QuotaStore } from '../../ports/limits/quota-store.ts';
import { checkMakerOptions, oneOf, positive, strict } from '../../ports/set-up.ts';
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
import { aPrefix, aQuotaClient, defaultPrefix, remedies } from './set-up.ts';

/** The client, and optional settings. */
export interface RedisQuotaStoreOptions {
  /** Connected and closed by the host. */
  readonly client: RedisClient;
  /** Prefix of every key. Default: `tollgate`. */
  readonly prefix?: string;
  /** How long an ended reservation is remembered to answer repeats. Default: an hour. */
  readonly endedTtlMs?: number;
  /**
   * `replica-async`, the default: a failover may lose writes that the replica had not received.
   * `durable` is right only for a single server without failover, with `appendonly yes` and
   * `appendfsync always`.
   */
  readonly durability?: 'replica-async' | 'durable';
}

/** Loaded by `check`, before the first call that needs them. */
const quotaScripts = [
  ...[reserveScript, extendScript, settleScript, releaseScript],
  ...[sweepScript, readScript, adjustScript],
];

const durabilities = ['replica-async', 'durable'] as const;

const optionsSchema = strict('must be an object', {
  client: aQuotaClient,
  prefix: aPrefix.optional(),
  endedTtlMs: positive.optional(),
  durability: z.enum(durabilities, oneOf(durabilities)).optional(),
} satisfies Record<keyof RedisQuotaStoreOptions, z.ZodType>);

/**
 * A quota store in Redis 6.2 or newer. Each operation is one script on the server, so operations
 * never interleave; leases end by the server's clock.
 *
 * Balances and holds have no TTL, so the server must not evict keys; `check` verifies that.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function redisQuotaStore(options: RedisQuotaStoreOptions): QuotaStore {
  checkMakerOptions('redisQuotaStore', optionsSchema, options, remedies);
  const { client, prefix = defaultPrefix, endedTtlMs = 3_600_000 } = options;
  const { durability = 'replica-async' } = options;
  const load = scriptLoader(client, quotaScripts);
  return quotaStoreOver(scriptRunner(client), { prefix, endedTtlMs, durability }, load);
}
