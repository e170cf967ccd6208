/** Reads the headers that carry the key. */
import { GatewayError } from '../../errors.ts';
import type { GatewayRequest } from '../../http.ts';

/**
 * The value of a header that was sent exactly once and is not listed in `Connection` as hop-by-hop.
 * Read from the raw list, because Node keeps the first of two `Authorization` lines and joins the
 * values of other duplicates.
 */
export function headerOnce(request: GatewayRequest, name: string): string | undefined {
  const connection = String(request.headers.connection ?? '').toLowerCase();
  if (connection.includes(name) && isListed(name, connection)) {
    throw new GatewayError(
      'invalid_request',
      `The Connection header must not list ${name}. Remove it from Connection.`,
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

export const bearerHeader = 'authorization';

const bearer = 'Bearer ';

/** The key; undefined if there is none, or more than one, or another scheme. */
export function bearerSecret(request: GatewayRequest): string | undefined {
  const value = headerOnce(request, bearerHeader);
  if (value === undefined || !isBearer(value)) return undefined;
  return value.includes(' ', bearer.length) ? undefined : value.slice(bearer.length);
}

function isBearer(value: string): boolean {
  if (value.startsWith(bearer)) return true;
  return value.slice(0, bearer.length).toLowerCase() === bearer.toLowerCase();
}
