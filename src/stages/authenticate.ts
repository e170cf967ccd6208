/**
 * Finds the API key of a request by its secret. A key that was sent is refused with the same text
 * whatever the reason is.
 */

import { GatewayError } from '../errors.ts';
import type { Settings } from '../options.ts';
import type { ApiKey } from '../ports/key-store.ts';
import type { Caller } from '../protocols/protocol.ts';
import { secretKind } from '../secret.ts';
import type { Received } from './call-record.ts';
import type { RecordChecks } from './record-checks.ts';

/** The legal secrets: printable ASCII without the characters that separate values in a header. */
const secretSyntax = /^[\x21\x23-\x26\x28-\x2b\x2d-\x7e]{1,512}$/;

/**
 * Returns the key of this request. The body has not been read yet.
 *
 * @throws GatewayError `invalid_key`, with the same text for a key that is malformed, unknown,
 *   expired or disabled; `store_unavailable` if the key store can't tell
 */
export async function authenticate(
  { request, settings, guard }: Received,
  caller: Caller,
  records: RecordChecks,
): Promise<ApiKey> {
  const secret = caller.secretOf(request, settings);
  if (secret === undefined || secret === '')
    throw refusal('No API key was found.', caller, settings);
  if (!maySendToStore(secret)) throw invalidKey(caller, settings);
  const key = await guard.ask('keys', 'find', records.isKeyOrMissing, (options) =>
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

/** One text for all of these, because separate ones would tell strangers which keys exist. */
function invalidKey(caller: Caller, settings: Settings): GatewayError {
  return refusal('The API key is unknown, disabled or expired.', caller, settings);
}

function refusal(sentence: string, caller: Caller, settings: Settings): GatewayError {
  const header = caller.keyExample(settings);
  return new GatewayError(
    'invalid_key',
    `${sentence} Send the complete key in the header \`${header}\`.`,
  );
}
