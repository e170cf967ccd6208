/** Reads the health of a channel from a gateway. */
import type { Gateway } from '../../src/gateway.ts';

/** The health of a channel for one model, as a host sees it. */
export interface ChannelHealth {
  readonly state: string;
  /** When the state ends, Unix ms. */
  readonly untilMs: number | undefined;
}

const ready: ChannelHealth = { state: 'ready', untilMs: undefined };

/** The state of the account, or, if that is ready, of the model on it. */
export function healthOf(
  gateway: Gateway,
  channelId: string,
  upstreamModel: string,
): ChannelHealth {
  const account = gateway.channels().find((channel) => channel.channelId === channelId);
  if (account === undefined) return ready;
  const source =
    account.state === 'ready'
      ? account.models.find((model) => model.upstreamModel === upstreamModel)
      : account;
  return source === undefined ? ready : { state: source.state, untilMs: source.untilMs };
}
