/** What is known of a call before its body is read, by which the gateway decides to read it. */

import { smallBodyBytes } from '../bytes/body/fair-shares.ts';
import { contentLengthOf } from '../bytes/body/headers.ts';
import type { Protocol } from '../protocols/protocol.ts';
import type { Authenticated } from './call-record.ts';
import { mayBeRepeat } from './idempotency-key.ts';
import type { BeginningCall } from './running.ts';

/**
 * The key's own limit of calls at once is checked by the quota store, in one step with the hold;
 * here it is checked for this process alone, so that a key's calls beyond it take no memory. Not
 * for a call that may repeat another: it may be answered without running.
 */
export function beginningCall(
  { key, received: { request, settings } }: Authenticated,
  protocol: Protocol,
): BeginningCall {
  return {
    keyId: key.id,
    maxConcurrentCalls: mayBeRepeat(request, protocol, settings)
      ? undefined
      : key.maxConcurrentCalls,
    isSmall: (contentLengthOf(request.headers) ?? 0) <= smallBodyBytes,
  };
}
