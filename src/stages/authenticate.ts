/**
 * Finds the key of a request: which header counts, what a secret may look like, and one answer for
 * every no.
 */

import { GatewayError } from '../errors.ts';
import type { Settings } from '../options.ts';
import type { ApiKey } from '../ports/key-store.ts';
import type { Caller } from '../protocols/protocol.ts';
import { secretKind } from '../secret.ts';
import type { Received } from './call-record.ts';
import type { FoundRecords } from './found-records.ts';

/** What a secret may hold at all: printable ASCII without what separates values in a header. */
const secretSyntax = /^[\x21\x23-\x26\x28-\x2b\x2d-\x7e]{1,512}$/;

/**
 * The key that sent this request. Runs while the body is still unread.
 *
 * @throws GatewayError `invalid_key`, alike for a key that is missing, malformed, unknown, expired
 *   or disabled; `store_unavailable` when the key store can't tell
 */
export async function authenticate(
  { request, settings, guard }: Received,
  caller: Caller,
  records: FoundRecords,
): Promise<ApiKey> {
  const secret = caller.secretOf(request, settings);
  if (secret === undefined || !maySendToStore(secret)) throw invalidKey(caller, settings);
  const key = await guard.ask('keys', 'find', records.isFoundKey, (options) =>
    settings.keys.find(secret, options),
  );
  if (!key || key.disabled || hasExpired(key, settings)) throw invalidKey(caller, settings);
  return key;
}

function maySendToStore(secret: string): boolean {
  const kind = secretKind(secret);
  return kind === 'ours' || (kind === 'foreign' && secretSyntax.test(secret));
}

function hasExpired(key: ApiKey, { clock }: Settings): boolean {
  return key.expiresAtMs !== undefined && clock.now() >= key.expiresAtMs;
}

function invalidKey(caller: Caller, settings: Settings): GatewayError {
  return new GatewayError(
    'invalid_key',
    'The API key is missing, malformed or disabled. ' +
      `Send the complete key in the header \`${caller.keyExample(settings)}\`.`,
  );
}
