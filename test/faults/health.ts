/** Reads what a gateway says of a channel's health: the one place that knows how it is said. */
import type { Gateway } from '../../src/gateway.ts';

/** How a channel stands for one model, as a host reads it. */
export interface Standing {
  readonly state: string;
  /** When it is over, Unix ms. */
  readonly untilMs: number | undefined;
}

const ready: Standing = { state: 'ready', untilMs: undefined };

/** What the account has against it, else what the model on it has. */
export function standingOf(gateway: Gateway, channelId: string, upstreamModel: string): Standing {
  const account = gateway.channels().find((channel) => channel.channelId === channelId);
  if (account === undefined) return ready;
  const place =
    account.state === 'ready'
      ? account.models.find((model) => model.upstreamModel === upstreamModel)
      : account;
  return place === undefined ? ready : { state: place.state, untilMs: place.untilMs };
}
