/** Opens the keys of a configuration for a command that reads or changes them. */
import type { Admin } from '../../admin/admin.ts';
import type { Given } from '../command.ts';
import { withAdmin } from '../with-admin.ts';
import { type OpenStores, refuseMemory } from '../with-stores.ts';

/** For the help of the commands that change a key. */
export const cacheNote =
  'Running gateways cache a key from PostgreSQL for keys.cacheMs, 30 s by default.';

/** @throws CommandError where the keys are in the memory of another process */
export function withKeys(
  given: Given,
  task: (admin: Admin, open: OpenStores) => Promise<number>,
  options: Parameters<typeof withAdmin>[2] = {},
): Promise<number> {
  const checked: typeof task = (admin, open) => {
    refuseMemory(open.stores.choice.keys, 'Keys');
    return task(admin, open);
  };
  return withAdmin(given, checked, options);
}
