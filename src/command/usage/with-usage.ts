/** Opens the usage log of a configuration for a command. */

import type { Given } from '../command.ts';
import type { Stores } from '../stores.ts';
import { type OpenStores, refuseMemory, withStores } from '../with-stores.ts';

/** A usage log that can be queried. */
export type UsageLog = NonNullable<Stores['usageLog']>;

/** @throws CommandError if the log is in the memory of another process */
export function withUsage(
  given: Given,
  task: (log: UsageLog, open: OpenStores) => Promise<number>,
): Promise<number> {
  return withStores(given, ['usage'], async (open) => {
    const { usageLog, choice } = open.stores;
    refuseMemory(choice.usage, 'Usage records');
    if (usageLog === undefined) throw new TypeError('stores.usage was not opened');
    return task(usageLog, open);
  });
}
