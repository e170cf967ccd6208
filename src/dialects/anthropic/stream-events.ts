/** Writes the events of Anthropic's streams that the gateway adds to relayed ones too. */
import { oneLine } from '../../canonical/raw-json.ts';
import type { GatewayError } from '../../errors.ts';
import { anthropicErrorText } from './errors.ts';

/** Keeps the connection of a silent stream alive. All clients ignore it, even as the first. */
export const pingEvent: string = 'event: ping\ndata: {"type": "ping"}\n\n';

/** Clients need the event's name, and no `message_delta` or `message_stop` after it. */
export function errorEvent(error: GatewayError, requestId: string): string {
  return `event: error\ndata: ${oneLine(anthropicErrorText(error, requestId))}\n\n`;
}
