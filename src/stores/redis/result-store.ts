/**
 * A result store in Redis, so that a repeated call can be answered by another process. Age and
 * total bytes are bounded on the server.
 *
 * Replies are user data, including images, so this store is used only if a host sets it up.
 */
import type { z } from 'zod';
import type { CallOptions } from '../../ports/call-options.ts';
import type { ResultStore, StoredResult } from '../../ports/replies/result-store.ts';
import { checkMakerOptions, positive, strict } from '../../ports/set-up.ts';
import { ownerShare } from '../memory/owned-entries.ts';
import { resultBytes, resultFromBytes } from '../sql/result-bytes.ts';
import { bytesScriptRunner, type RedisBytesClient } from './binary-client.ts';
import type { Script } from './client.ts';
import { withDeadline } from './deadline.ts';
import { forgetResultsOfOwnerScript, getResultScript, putResultScript } from './kept-scripts.ts';
import { corrupt, countIn, listOf } from './reply.ts';
import {
  bytesStoreOptions,
  defaultMaxBytes,
  defaultPrefix,
  ownerName,
  remedies,
} from './set-up.ts';

/** The client, how many bytes are kept, and for how long. */
export interface RedisResultStoreOptions {
  /**
   * Connected and closed by the host. Better not the quota store's client or server: large bodies
   * delay its calls and take its memory.
   */
  readonly client: RedisBytesClient;
  /** Prefix of every key. Default: `tollgate`. */
  readonly prefix?: string;
  /**
   * For all replies together, with 1 KiB of overhead for each; a quarter of it for those of one
   * owner, so that a larger reply is not kept. Default: 64 MiB.
   */
  readonly maxBytes?: number;
  /** How long a reply is kept, within `maxBytes`. Default: 30 min. */
  readonly maxAgeMs?: number;
}

const optionsSchema = strict('must be an object', {
  ...bytesStoreOptions,
  maxAgeMs: positive.optional(),
} satisfies Record<keyof RedisResultStoreOptions, z.ZodType>);

/** Estimated memory of a reply besides its body: names, headers, and an entry in five keys. */
const entryBytes = 1024;

/**
 * A result store in Redis 6.2 or newer, shared by any number of processes with the same `prefix`.
 * The oldest replies are evicted first: those of an owner that exceeds its share, otherwise those
 * of all owners. All replies are on one node of a cluster.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function redisResultStore(options: RedisResultStoreOptions): ResultStore {
  checkMakerOptions('redisResultStore', optionsSchema, options, remedies);
  const { prefix = defaultPrefix, maxBytes = defaultMaxBytes, maxAgeMs = 1_800_000 } = options;
  const run = bytesScriptRunner(options.client);
  const base = `${prefix}:{replies}:`;

  const runOn = (
    script: Script,
    args: readonly (string | Uint8Array)[],
    callOptions: CallOptions | undefined,
  ): Promise<unknown> => withDeadline(callOptions, (signal) => run(script, base, args, signal));

  return {
    put: async (name, result, callOptions) => {
      const size = result.body.byteLength + entryBytes;
      const maxOwnerBytes = Math.floor(maxBytes * ownerShare);
      if (size > maxOwnerBytes) return;
      const bounds = [maxAgeMs, maxBytes, maxOwnerBytes, 1].map((n) => String(Math.ceil(n)));
      const owner = ownerName(callOptions?.owner ?? '');
      const args = [owner, ...bounds, name, String(size), resultBytes(result)];
      await runOn(putResultScript, args, callOptions);
    },
    get: async (name, callOptions) => resultFrom(await runOn(getResultScript, [name], callOptions)),
    forgetOwner: async (owner, callOptions) =>
      countIn(await runOn(forgetResultsOfOwnerScript, [ownerName(owner)], callOptions)),
  };
}

function resultFrom(reply: unknown): StoredResult | undefined {
  const [kept] = listOf(reply);
  if (kept === undefined) return undefined;
  if (!(kept instanceof Uint8Array)) return corrupt();
  return resultFromBytes(kept) ?? corrupt();
}
