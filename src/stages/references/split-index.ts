/**
 * Reports models whose stored responses another process could not find. Whether there are other
 * processes is not known; a quota store that they could share suggests it.
 */
import type { EventListener } from '../../events.ts';
import type { Admitted } from '../call-record.ts';
import { onceForEach } from '../ports/once-for-each.ts';
import { servingAccount } from '../upstream/credential.ts';
import { relayedChannels } from './relayed-channels.ts';

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
