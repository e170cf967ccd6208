/**
 * Finds the API key of a request by its secret, or, if the host opted in, by the session of a
 * signed-in user. A key that was sent is refused with the same text whatever the reason is.
 */

import { GatewayError } from '../../errors.ts';
import type { FailureReason } from '../../failure-reasons.ts';
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

type KeyProblem = Extract<FailureReason, `key_${string}`>;

interface KeyBearer {
  readonly request: GatewayRequest;
  readonly caller: Caller;
  readonly settings: Settings;
}

/**
 * One text whatever the reason is, because separate ones would tell strangers which keys exist. If
 * two headers carry a key, the text names the one that counts, because the other may be the right
 * one.
 */
function invalidKey(reason: KeyProblem, secret: string, bearer: KeyBearer): GatewayError {
  const { request, caller, settings } = bearer;
  const sent = presentHeaders(request, caller.keyHeaders(settings));
  const [first, ...others] = sent;
  const isFirst = first !== undefined && String(request.headers[first]).endsWith(secret);
  if (others.length === 0 || !isFirst) {
    const sentence = 'The API key is unknown, disabled or expired.';
    return refusal(providerKey.test(secret) ? `${sentence} ${foreign}` : sentence, reason, bearer);
  }
  return new GatewayError(
    'invalid_key',
    `The API key in the header \`${first}\` is unknown, disabled or expired. It counts before ` +
      `\`${others.join('`, `')}\`: send the right key there, or leave the header out.`,
    { reason },
  );
}

/** The beginnings of keys that providers issue. A host's own keys may begin like one. */
const providerKey = /^(?:sk-|AIza|AQ\.|gsk_|xai-|hf_|nvapi-|pplx-)/;
const foreign =
  'It begins like the key of a provider: take the key that was issued for this gateway.';

function noKey(bearer: KeyBearer): GatewayError {
  const found = misplacedKey(bearer);
  const sentence =
    found === undefined ? 'No API key was found.' : `No API key was found: ${found}.`;
  return refusal(sentence, 'key_missing', bearer, queryRemedy(bearer));
}

const usualHeaders = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'];
const queryNames = ['key', 'api_key', 'api-key'];

function misplacedKey({ request, caller, settings }: KeyBearer): string | undefined {
  const own = caller.keyHeaders(settings);
  const [unreadable] = presentHeaders(request, own);
  if (unreadable !== undefined) return problemOf(unreadable, request);
  const [other] = presentHeaders(request, [...usualHeaders, ...settings.nativeKeyHeaders]);
  if (other !== undefined) return `the header ${quoted(other)} is not read here`;
  const query = new URLSearchParams(request.search);
  const name = queryNames.find((one) => query.has(one));
  return name === undefined ? undefined : `\`${name}\` in the query of the URL is not read here`;
}

function problemOf(header: string, { rawHeaders }: GatewayRequest): string {
  const lines = rawHeaders.filter(
    (name, index) => index % 2 === 0 && name.toLowerCase() === header,
  );
  if (lines.length > 1) return `the header ${quoted(header)} was sent more than once`;
  return header === 'authorization'
    ? 'the header `Authorization` is not of the form `Bearer <key>`'
    : `the header ${quoted(header)} is empty`;
}

function presentHeaders({ headers }: GatewayRequest, names: readonly string[]): readonly string[] {
  return names.filter((name) => headers[name] !== undefined);
}

function quoted(header: string): string {
  return header === 'authorization' ? '`Authorization`' : `\`${header}\``;
}

/** For the host, if one of its options would have found the key. */
function queryRemedy({ request, caller, settings }: KeyBearer): string | undefined {
  const inQuery = caller.secretOf(request, { ...settings, allowQueryKey: true });
  if (inQuery === undefined || inQuery === '') return undefined;
  return '`allowQueryKey: true` accepts the key in the query of the URL; URLs end up in logs.';
}

function refusal(
  sentence: string,
  reason: KeyProblem,
  { caller, settings }: KeyBearer,
  remedy?: string,
): GatewayError {
  const header = caller.keyExample(settings);
  return new GatewayError(
    'invalid_key',
    `${sentence} Send the complete key in the header \`${header}\`.`,
    { reason, remedy },
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
