/** Reads the name of a session from a header that a client of an API sends with each call of it. */
import type { IncomingHeaders } from '../http.ts';

/** Names of sessions are ids; other values would be hashed for nothing. */
const sessionName = /^[!-~]{1,64}$/;

/** Undefined if missing, repeated, or not 1 to 64 printable ASCII characters without a space. */
export function sessionHeader(headers: IncomingHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' && sessionName.test(value) ? value : undefined;
}
