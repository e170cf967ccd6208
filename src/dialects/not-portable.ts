/** Errors for what a translated request has and its upstream lacks. */
import type { ContentRequest } from '../canonical/request.ts';
import { GatewayError } from '../errors.ts';

export function notPortable(param: string | undefined, message: string): GatewayError {
  return new GatewayError('not_portable', message, param === undefined ? {} : { param });
}

/**
 * Everything was left out: blank texts, or reasoning that only another provider can read. No
 * upstream accepts a conversation without a message.
 */
export function nothingToSend({ turns }: ContentRequest): GatewayError {
  const at = turns.flatMap(({ parts }) => parts).at(0)?.at;
  return notPortable(
    at,
    'No message has content that this model accepts. Send one that is not blank.',
  );
}
