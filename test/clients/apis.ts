/** The APIs that clients call, each with its clients and the upstreams behind it. */
import { messagesClients, responsesClients } from './drivers/all.ts';
import type { Client } from './drivers/client.ts';
import { type Upstream, type UpstreamName, upstreams } from './upstreams.ts';

/** An API of the gateway. */
export interface Api {
  readonly protocol: 'responses' | 'messages';
  readonly clients: readonly Client[];
  readonly upstreams: readonly Upstream[];
  /** A model whose name some clients know, so that they have settings of their own for it. */
  readonly knownModel: string;
}

/** Every API that is tested here. */
export const apis: readonly Api[] = [
  {
    protocol: 'responses',
    clients: responsesClients,
    upstreams,
    knownModel: 'gpt-5.1',
  },
  {
    protocol: 'messages',
    clients: messagesClients,
    upstreams: named('chat', 'deepseek', 'gemini', 'anthropic'),
    knownModel: 'claude-sonnet-4-6',
  },
];

function named(...names: readonly UpstreamName[]): readonly Upstream[] {
  return upstreams.filter(({ name }) => names.includes(name));
}
