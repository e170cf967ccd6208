/**
 * Describes a call before its body is read, so that the gateway can decide whether to read it.
 */

import { smallBodyBytes } from '../bytes/body/fair-shares.ts';
import { contentLengthOf } from '../bytes/body/headers.ts';
import type { Protocol } from '../protocols/protocol.ts';
import type { Authenticated } from './call-record.ts';
import { mayBeRepeat } from './idempotency/idempotency.ts';
import type { BeginningCall } from './running.ts';

/**
 * The quota store checks the key's `maxConcurrentCalls` in one step with the hold. Here it is
 * checked for this process alone, so that calls above it take no memory. A call that may repeat
 * another is exempt, because it may be answered without running.
 */
export function beginningCall(
  { key, received: { request, settings, connection } }: Authenticated,
  protocol: Protocol,
): BeginningCall {
  return {
    keyId: key.id,
    caller: connection,
    maxConcurrentCalls: mayBeRepeat(request, protocol, settings)
      ? undefined
      : key.maxConcurrentCalls,
    isSmall: (contentLengthOf(request.headers) ?? 0) <= smallBodyBytes,
  };
}
