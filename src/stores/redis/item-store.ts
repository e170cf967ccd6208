/**
 * An item store in Redis, so that a call may refer to the items of a reply that another process has
 * sent. Age and total bytes are bounded on the server.
 *
 * Items are user data, so this store is used only if a host sets it up.
 */
import type { z } from 'zod';
import type { CallOptions } from '../../ports/call-options.ts';
import type { ItemStore, StoredItem } from '../../ports/replies/item-store.ts';
import { checkMakerOptions, positive, strict } from '../../ports/set-up.ts';
import { ownerShare } from '../memory/owned-entries.ts';
import { bytesScriptRunner, type RedisBytesClient, type RunBytesScript } from './binary-client.ts';
import type { Script } from './client.ts';
import { withDeadline } from './deadline.ts';
import {
  forgetItemsOfOwnerScript,
  forgetItemsScript,
  getItemsScript,
  putItemsScript,
} from './kept-scripts.ts';
import { corrupt, countIn, listOf } from './reply.ts';
import {
  bytesStoreOptions,
  defaultMaxBytes,
  defaultPrefix,
  ownerName,
  remedies,
} from './set-up.ts';

/** The client, and how many bytes are kept. */
export interface RedisItemStoreOptions {
  /**
   * Connected and closed by the host. Better not the quota store's client or server: items take its
   * memory.
   */
  readonly client: RedisBytesClient;
  /** Prefix of every key. Default: `tollgate`. */
  readonly prefix?: string;
  /** For all items together; a quarter of it for those of one owner. Default: 64 MiB. */
  readonly maxBytes?: number;
  /** A larger item is not kept. Default: 256 KiB. */
  readonly maxItemBytes?: number;
}

const optionsSchema = strict('must be an object', {
  ...bytesStoreOptions,
  maxItemBytes: positive.optional(),
} satisfies Record<keyof RedisItemStoreOptions, z.ZodType>);

/** Estimated memory of an item besides its bytes: names, and an entry in five keys. */
const entryBytes = 1024;

/**
 * An item store in Redis 6.2 or newer, shared by any number of processes with the same `prefix`.
 * The least recently used items are forgotten first. All items are on one node of a cluster.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function redisItemStore(options: RedisItemStoreOptions): ItemStore {
  checkMakerOptions('redisItemStore', optionsSchema, options, remedies);
  return itemStoreOver(bytesScriptRunner(options.client), options);
}

export function itemStoreOver(
  run: RunBytesScript,
  options: Omit<RedisItemStoreOptions, 'client'>,
): ItemStore {
  const { prefix = defaultPrefix } = options;
  const base = `${prefix}:{items}:`;
  const runOn = (
    script: Script,
    args: readonly (string | Uint8Array)[],
    callOptions: CallOptions | undefined,
  ): Promise<unknown> => withDeadline(callOptions, (signal) => run(script, base, args, signal));

  return {
    put: async (owner, items, ttlMs, callOptions) => {
      const { args, tooLarge } = putArguments(items, ttlMs, options);
      const hasItems = tooLarge.length < items.length;
      if (hasItems) await runOn(putItemsScript, [ownerName(owner), ...args], callOptions);
      return tooLarge;
    },
    get: async (owner, ids, callOptions) => {
      if (ids.length === 0) return [];
      const args = [ownerName(owner), String(ids.length), ...ids];
      const found = listOf(await runOn(getItemsScript, args, callOptions));
      return found.length === ids.length ? found.map(itemFrom) : corrupt();
    },
    forget: async (owner, ids, callOptions) => {
      if (ids.length === 0) return;
      const args = [ownerName(owner), String(ids.length), ...ids];
      await runOn(forgetItemsScript, args, callOptions);
    },
    forgetOwner: async (owner, callOptions) =>
      countIn(await runOn(forgetItemsOfOwnerScript, [ownerName(owner)], callOptions)),
  };
}

/** The arguments behind the owner's name, and the ids of the items that are not among them. */
function putArguments(
  items: readonly StoredItem[],
  ttlMs: number,
  {
    maxBytes = defaultMaxBytes,
    maxItemBytes = 256 * 1024,
  }: Pick<RedisItemStoreOptions, 'maxBytes' | 'maxItemBytes'>,
): { readonly args: readonly (string | Uint8Array)[]; readonly tooLarge: readonly string[] } {
  const maxOwnerBytes = Math.floor(maxBytes * ownerShare);
  const fits = ({ json: { byteLength } }: StoredItem): boolean =>
    byteLength <= maxItemBytes && byteLength + entryBytes <= maxOwnerBytes;
  const kept = items.filter(fits);
  const bounds = [ttlMs, maxBytes, maxOwnerBytes, kept.length].map((n) => String(Math.ceil(n)));
  const sized = kept.flatMap(({ id, json }) => [id, String(json.byteLength + entryBytes), json]);
  return {
    args: [...bounds, ...sized],
    tooLarge: items.filter((item) => !fits(item)).map(({ id }) => id),
  };
}

function itemFrom(reply: unknown): Uint8Array | undefined {
  const [json] = listOf(reply);
  if (json === undefined) return undefined;
  return json instanceof Uint8Array ? new Uint8Array(json) : corrupt();
}
