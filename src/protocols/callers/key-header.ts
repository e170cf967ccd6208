/** Reads the one header that carries a key. */
import { GatewayError } from '../../errors.ts';
import type { GatewayRequest } from '../../http.ts';

/**
 * The value of a header that was sent exactly once and that `Connection` does not claim for the hop
 * before. Node keeps the first of two `Authorization` lines and joins two of another name, so that
 * only the raw list tells.
 *
 * @throws GatewayError `invalid_request` where `Connection` names the header
 */
export function headerOnce(request: GatewayRequest, name: string): string | undefined {
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
