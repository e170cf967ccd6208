/**
 * Finds the key of a request: which header counts, what a secret may look like, and one answer for
 * every no.
 */

import type { CallerDialectName } from '../dialects/dialect.ts';
import { GatewayError } from '../errors.ts';
import type { GatewayRequest } from '../http.ts';
import type { Settings } from '../options.ts';
import type { ApiKey } from '../ports/key-store.ts';
import { secretKind } from '../secret.ts';
import type { FoundRecords } from './found-records.ts';
import type { PortGuard } from './port-guard.ts';

/** What a secret may hold at all: printable ASCII without what separates values in a header. */
const secretSyntax = /^[\x21\x23-\x26\x28-\x2b\x2d-\x7e]{1,512}$/;

/**
 * The key that sent this request. Runs while the body is still unread.
 *
 * @throws GatewayError `invalid_key`, alike for a key that is missing, malformed, unknown, expired
 *   or disabled; `store_unavailable` when the key store can't tell
 */
export async function authenticate(
  request: GatewayRequest,
  speaks: CallerDialectName,
  settings: Settings,
  guard: PortGuard,
  records: FoundRecords,
): Promise<ApiKey> {
  const secret = speaks === 'openai' ? bearerSecret(request) : nativeSecret(request, settings);
  if (secret === undefined || !maySendToStore(secret)) throw invalidKey(speaks, settings);
  const key = await guard.ask('keys', 'find', records.isFoundKey, (options) =>
    settings.keys.find(secret, options),
  );
  if (!key || key.disabled || hasExpired(key, settings)) throw invalidKey(speaks, settings);
  return key;
}

function maySendToStore(secret: string): boolean {
  const kind = secretKind(secret);
  return kind === 'ours' || (kind === 'foreign' && secretSyntax.test(secret));
}

function hasExpired(key: ApiKey, { clock }: Settings): boolean {
  return key.expiresAtMs !== undefined && clock.now() >= key.expiresAtMs;
}

const bearer = 'Bearer ';

function bearerSecret(request: GatewayRequest): string | undefined {
  const value = headerOnce(request, 'authorization');
  if (value === undefined || !isBearer(value)) return undefined;
  return value.includes(' ', bearer.length) ? undefined : value.slice(bearer.length);
}

function isBearer(value: string): boolean {
  if (value.startsWith(bearer)) return true;
  return value.slice(0, bearer.length).toLowerCase() === bearer.toLowerCase();
}

/**
 * The first native header that is present decides: Google's SDKs put a placeholder into their own.
 */
function nativeSecret(request: GatewayRequest, settings: Settings): string | undefined {
  const name = settings.nativeKeyHeaders.find((header) => request.headers[header] !== undefined);
  if (name !== undefined) return headerOnce(request, name);
  return settings.allowQueryKey
    ? (new URLSearchParams(request.search).get('key') ?? undefined)
    : undefined;
}

/**
 * The value of a header that was sent exactly once and that `Connection` does not claim for the hop
 * before. Node keeps the first of two `Authorization` lines and joins two of another name, so that
 * only the raw list tells.
 */
function headerOnce(request: GatewayRequest, name: string): string | undefined {
  const connection = String(request.headers.connection ?? '').toLowerCase();
  if (connection.includes(name) && isListed(name, connection)) {
    throw new GatewayError(
      'invalid_request',
      `The Connection header may not name ${name}. Leave it out of Connection.`,
    );
  }
  const { rawHeaders } = request;
  let found: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const header = rawHeaders[index];
    if (header?.length !== name.length || header.toLowerCase() !== name) continue;
    if (found !== undefined) return undefined;
    found = rawHeaders[index + 1];
  }
  return found;
}

function isListed(name: string, tokens: string): boolean {
  return tokens.split(',').some((token) => token.trim() === name);
}

function invalidKey(speaks: CallerDialectName, settings: Settings): GatewayError {
  const how =
    speaks === 'openai' ? 'Authorization: Bearer <key>' : `${settings.nativeKeyHeaders[0]}: <key>`;
  return new GatewayError(
    'invalid_key',
    'The API key is missing, malformed or disabled. ' +
      `Send the complete key in the header \`${how}\`.`,
  );
}
