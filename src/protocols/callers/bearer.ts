/** Reads a key from `Authorization: Bearer <key>`. */
import type { GatewayRequest } from '../../http.ts';
import { headerOnce } from './key-header.ts';

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
