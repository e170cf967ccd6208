/** The errors for requests without a valid key: where one was found, and never the key itself. */
import { GatewayError } from '../../errors.ts';
import type { FailureReason } from '../../failure-reasons.ts';
import type { GatewayRequest } from '../../http.ts';
import type { Settings } from '../../options.ts';
import type { Caller } from '../../protocols/protocol.ts';

export type KeyProblem = Extract<FailureReason, `key_${string}`>;

export interface KeyBearer {
  readonly request: GatewayRequest;
  readonly caller: Caller;
  readonly settings: Settings;
}

/**
 * One text whatever the reason is, because separate ones would tell strangers which keys exist. If
 * two headers carry a key, the text names the one that counts, because the other may be the right
 * one.
 */
export function invalidKey(reason: KeyProblem, secret: string, bearer: KeyBearer): GatewayError {
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

export function noKey(bearer: KeyBearer): GatewayError {
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

export function foreignSession(): GatewayError {
  return new GatewayError(
    'invalid_key',
    'No API key was found, and only the app’s own pages may call with a session. ' +
      'Send the request from one of them, with content-type: application/json.',
    { reason: 'session_not_allowed' },
  );
}

export function noSession(reason: KeyProblem): GatewayError {
  return new GatewayError(
    'invalid_key',
    'No API key was found, and nobody is signed in. Sign in, or send a key.',
    { reason },
  );
}
