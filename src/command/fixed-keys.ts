/** The keys in the configuration, as a key store that is updated when the file changes. */
import type { AdminKeyStore } from '../admin/deps.ts';
import type { ApiKey } from '../ports/key-store.ts';
import { money } from '../prices/amount.ts';
import { memoryKeyStore } from '../stores/memory/key-store.ts';
import type { FixedKey, ServeConfig } from './config/config.ts';

/** The part of `keys` that concerns them. */
type FixedKeysConfig = Pick<ServeConfig['keys'], 'fixed' | 'pepper'>;

/** A key store without changes: only the file can change its keys. */
export interface FixedKeys extends Required<Pick<AdminKeyStore, 'find' | 'get' | 'page'>> {
  /** Replaces all keys: those that the file no longer has are refused from the next call on. */
  replace(keys: FixedKeysConfig): void;
}

/** The keys of a configuration. */
export function fixedKeys(keys: FixedKeysConfig): FixedKeys {
  let store = storeOf(keys);
  return {
    find: (secret) => store.find(secret),
    get: (id) => store.get(id),
    page: (query) => store.page(query),
    replace: (changed) => {
      store = storeOf(changed);
    },
  };
}

function storeOf({ fixed = [], pepper }: FixedKeysConfig): ReturnType<typeof memoryKeyStore> {
  const peppered = pepper === undefined ? {} : { pepper };
  return memoryKeyStore({ ...peppered, keys: fixed.map(recordOf) });
}

function recordOf(written: FixedKey): { readonly secret: string; readonly key: ApiKey } {
  const { secret, limit, period, metadata, maxConcurrentCalls, ...key } = written;
  return {
    secret,
    key: {
      ...key,
      disabled: false,
      quota: [{ id: key.id, period, limitNanos: money(limit) }],
      ...(metadata === undefined ? {} : { metadata }),
      ...(maxConcurrentCalls === undefined ? {} : { maxConcurrentCalls }),
    },
  };
}
