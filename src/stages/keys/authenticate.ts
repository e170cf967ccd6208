/**
 * Finds the API key of a request by its secret, or, if the host opted in, by the session of a
 * signed-in user. A key that was sent is refused with the same text whatever the reason is.
 */

import type { GatewayRequest } from '../../http.ts';
import type { Settings } from '../../options.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { ApiKey, KeyRequest, SessionStore } from '../../ports/keys/key-store.ts';
import type { Caller } from '../../protocols/protocol.ts';
import { sharedPathCallers } from '../../protocols/routes.ts';
import { secretKind } from '../../secret.ts';
import type { Received } from '../call-record.ts';
import { whenKnown } from '../ports/port-calls.ts';
import type { RecordChecks } from '../ports/record-checks.ts';
import { foreignSession, invalidKey, type KeyProblem, noKey, noSession } from './key-errors.ts';

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
export function authenticate(
  received: Received,
  caller: Caller,
  records: RecordChecks,
): MaybePromise<ApiKey> {
  const { request, settings, ports } = received;
  const secret = caller.secretOf(request, settings);
  if (secret === undefined || secret === '') return keyOfSession(received, caller, records);
  const kind = secret.length > maxSecretLength ? undefined : secretKind(secret);
  const isPossible = kind === 'ours' || (kind === 'foreign' && secretSyntax.test(secret));
  if (!isPossible) throw invalidKey('key_malformed', secret, { request, caller, settings });
  const found = ports.ask('keys', 'find', records.isKeyOrMissing, ({ timeoutMs }) =>
    settings.keys.find(secret, { timeoutMs, request: keyRequestOf(request) }),
  );
  return whenKnown(found, (key) => {
    const usable = usableKey(key, received);
    if (typeof usable === 'string') throw invalidKey(usable, secret, { request, caller, settings });
    return usable;
  });
}

async function keyOfSession(
  received: Received,
  caller: Caller,
  records: RecordChecks,
): Promise<ApiKey> {
  const { request, settings, ports } = received;
  const { sessions } = settings;
  if (sessions === undefined || hasKeyHeader(request, caller, settings)) {
    throw noKey({ request, caller, settings });
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

/** A key that can't be read, or is for another API, is refused: a session must not hide it. */
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

/**
 * True for a request that only a page of the app's own origin can have caused. A form of another
 * site can't send JSON as its content type, and a script of another site can't choose the headers
 * `sec-fetch-site` and `origin`.
 */
function mayUseSession(
  { headers }: Pick<GatewayRequest, 'headers'>,
  { origins = [] }: Pick<SessionStore, 'origins'>,
): boolean {
  if (!isJson(headers['content-type'])) return false;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin } = headers;
  return typeof origin === 'string' && origins.includes(origin);
}

function isJson(contentType: string | readonly string[] | undefined): boolean {
  if (typeof contentType !== 'string') return false;
  const [type = ''] = contentType.split(';');
  return type.trim().toLowerCase() === 'application/json';
}
