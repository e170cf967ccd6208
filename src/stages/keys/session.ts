/**
 * Decides whether a request may be charged to the session of a signed-in user. A browser sends
 * cookies with requests that another site causes: such a request must not spend the user's quota.
 */
import type { GatewayRequest } from '../../http.ts';
import type { SessionStore } from '../../ports/key-store.ts';

/**
 * True for a request that only a page of the app's own origin can have caused. A form of another
 * site can't send JSON as its content type, and a script of another site can't choose the headers
 * `sec-fetch-site` and `origin`.
 */
export function mayUseSession(
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
