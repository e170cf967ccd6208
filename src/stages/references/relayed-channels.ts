/** Finds the channels of a model that speak the caller's own API, whose providers keep replies. */
import type { Channel } from '../../ports/catalog.ts';
import type { Admitted } from '../call-record.ts';

/** The channels to which calls of this key would be relayed if they are healthy. */
export function relayedChannels({
  key,
  plan,
  route: { protocol },
}: Pick<Admitted, 'key' | 'plan' | 'route'>): readonly Channel[] {
  const pool = plan.pool(protocol, key.group);
  if (typeof pool === 'string') return [];
  return pool.channels.filter((channel) => plan.channel(channel).isRelayed(protocol));
}
