/** Finds the channels of a model that speak the caller's own API, whose providers keep replies. */

import type { EventListener } from '../../events/events.ts';
import type { Channel } from '../../ports/models/catalog.ts';
import type { Admitted } from '../call-record.ts';
import { onceForEach } from '../ports/once-for-each.ts';
import { servingAccount } from '../upstream/credential.ts';

/** The channels to which calls of this key would be relayed if they are healthy. */
export function relayedChannels({
  key,
  plan,
  route: { protocol },
}: Pick<Admitted, 'key' | 'plan' | 'route'>): readonly Channel[] {
  const pool = plan.pool(protocol, key.group);
  if (typeof pool === 'string') return [];
  return pool.channels.filter((channel) =>
    plan.channel(channel).isRelayed(protocol, protocol.operation),
  );
}

/** Reports the model of a call, if it is such a model. */
export type ReportSplitIndex = (
  call: Pick<Admitted, 'key' | 'model' | 'plan' | 'received' | 'route'>,
) => void;

/** Makes the report of one gateway: one event for each model. */
export function reportingSplitIndex(emit: EventListener): ReportSplitIndex {
  const report = onceForEach((modelId) => emit({ type: 'references_per_process', modelId }));
  return (call) => {
    const { quota, responses } = call.received.settings;
    if (quota.durability === 'process' || responses.index.durability !== 'process') return;
    // With one account, a call that this process can't place reaches the right one anyway.
    const accounts = relayedChannels(call).map((channel) => servingAccount(channel, undefined));
    if (new Set(accounts).size > 1) report(call.model.id);
  };
}
