/** The error for a conversation of which nothing is left for the upstream. */
import type { ContentRequest } from '../canonical/request.ts';
import { GatewayError } from '../errors.ts';

/**
 * Everything was left out: blank texts, or reasoning that only another provider can read. No
 * upstream accepts a conversation without a message.
 */
export function nothingToSend({ turns }: ContentRequest): GatewayError {
  const at = turns.flatMap(({ parts }) => parts).at(0)?.at;
  const sentence = 'No message has content that this model accepts. Send one that is not blank.';
  return new GatewayError('not_portable', sentence, at === undefined ? {} : { param: at });
}
