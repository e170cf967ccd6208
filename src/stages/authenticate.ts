/**
 * Finds the API key of a request by its secret, or, if the host opted in, by the session of a
 * signed-in user. A key that was sent is refused with the same text whatever the reason is.
 */

import { GatewayError } from '../errors.ts';
import type { FailureReason } from '../failure-reasons.ts';
import type { GatewayRequest } from '../http.ts';
import type { Settings } from '../options.ts';
import type { ApiKey, KeyRequest } from '../ports/key-store.ts';
import { sharedPathCallers } from '../protocols/caller-of.ts';
import type { Caller } from '../protocols/protocol.ts';
import { secretKind } from '../secret.ts';
import type { Received } from './call-record.ts';
import type { RecordChecks } from './record-checks.ts';
import { mayUseSession } from './session.ts';

/** Long enough for a JWT with many claims. */
const maxSecretLength = 8_192;
/** The legal secrets: printable ASCII without the characters that separate values in a header. */
const secretSyntax = /^[\x21\x23-\x26\x28-\x2b\x2d-\x7e]+$/;

/**
 * Returns the key of this request. The body has not been read yet.
 *
 * @throws GatewayError `invalid_key`, with the same text for a key that is malformed, unknown,
 *   expired or disabled; `store_unavailable` if the key store fails
 */
export async function authenticate(
  received: Received,
  caller: Caller,
  records: RecordChecks,
): Promise<ApiKey> {
  const { request, settings, ports } = received;
  const secret = caller.secretOf(request, settings);
  if (secret === undefined || secret === '') return keyOfSession(received, caller, records);
  const kind = secret.length > maxSecretLength ? undefined : secretKind(secret);
  const isPossible = kind === 'ours' || (kind === 'foreign' && secretSyntax.test(secret));
  if (!isPossible) throw invalidKey('key_malformed', secret, received, caller);
  const key = await ports.ask('keys', 'find', records.isKeyOrMissing, ({ timeoutMs }) =>
    settings.keys.find(secret, { timeoutMs, request: keyRequestOf(request) }),
  );
  const usable = usableKey(key, received);
  if (typeof usable === 'string') throw invalidKey(usable, secret, received, caller);
  return usable;
}

/** The key of the signed-in user, for a request without a key. */
async function keyOfSession(
  received: Received,
  caller: Caller,
  records: RecordChecks,
): Promise<ApiKey> {
  const { request, settings, ports } = received;
  const { sessions } = settings;
  if (sessions === undefined || hasKeyHeader(request, caller, settings)) {
    throw noKey(caller, settings);
  }
  if (!mayUseSession(request, sessions)) throw foreignSession();
  const key = await ports.ask('sessions', 'find', records.isKeyOrMissing, (options) =>
    sessions.find(keyRequestOf(request), options),
  );
  const usable = usableKey(key, received);
  if (typeof usable === 'string')
    throw noSession(usable === 'key_unknown' ? 'key_missing' : usable);
  return usable;
}

/**
 * Whether a header is present that carries keys on any API: a key that can't be read, or was sent
 * to another API than its own, is refused as such, because a session must not hide it.
 */
function hasKeyHeader({ headers }: GatewayRequest, caller: Caller, settings: Settings): boolean {
  return [caller, ...sharedPathCallers].some((each) =>
    each.keyHeaders(settings).some((name) => headers[name] !== undefined),
  );
}

/**
 * The request as the host's functions see it: a copy, so that a function that changes it does not
 * change the host's own request. The headers are not frozen: that would cost ten times as much as
 * the copy, at every call.
 */
export function keyRequestOf({ method, path, headers }: GatewayRequest): KeyRequest {
  return Object.freeze({ method, path, headers: { ...headers } });
}

/** The key, or why it can't be used. Its id is in the events in either case. */
function usableKey(
  key: ApiKey | undefined,
  { progress, settings: { clock } }: Received,
): ApiKey | KeyProblem {
  if (!key) return 'key_unknown';
  progress.key = key;
  if (key.disabled) return 'key_disabled';
  const { expiresAtMs } = key;
  return expiresAtMs !== undefined && clock.now() >= expiresAtMs ? 'key_expired' : key;
}

type KeyProblem = Extract<FailureReason, `key_${string}`>;

/**
 * One text for all of these, because separate ones would tell strangers which keys exist. If two
 * headers carry a key, the text names the one that counts, because the other may be the right one.
 */
function invalidKey(
  reason: KeyProblem,
  secret: string,
  { request: { headers }, settings }: Received,
  caller: Caller,
): GatewayError {
  const sent = caller.keyHeaders(settings).filter((name) => headers[name] !== undefined);
  const [first, ...others] = sent;
  const isFirst = first !== undefined && String(headers[first]).endsWith(secret);
  if (others.length === 0 || !isFirst) {
    return refusal('The API key is unknown, disabled or expired.', reason, caller, settings);
  }
  return new GatewayError(
    'invalid_key',
    `The API key in the header \`${first}\` is unknown, disabled or expired. It counts before ` +
      `\`${others.join('`, `')}\`: send the right key there, or leave the header out.`,
    { reason },
  );
}

function noKey(caller: Caller, settings: Settings): GatewayError {
  return refusal('No API key was found.', 'key_missing', caller, settings);
}

function refusal(
  sentence: string,
  reason: KeyProblem,
  caller: Caller,
  settings: Settings,
): GatewayError {
  const header = caller.keyExample(settings);
  return new GatewayError(
    'invalid_key',
    `${sentence} Send the complete key in the header \`${header}\`.`,
    { reason },
  );
}

function foreignSession(): GatewayError {
  return new GatewayError(
    'invalid_key',
    'No API key was found, and only the app’s own pages may call with a session. ' +
      'Send the request from one of them, with content-type: application/json.',
    { reason: 'session_not_allowed' },
  );
}

function noSession(reason: KeyProblem): GatewayError {
  return new GatewayError(
    'invalid_key',
    'No API key was found, and nobody is signed in. Sign in, or send a key.',
    { reason },
  );
}
