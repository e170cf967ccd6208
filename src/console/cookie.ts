/** The cookie that holds the id of a session. */
import type { IncomingMessage } from 'node:http';

/**
 * Browsers share cookies among the ports of a host name. The name contains the port, so that two
 * consoles on one machine don't overwrite each other's cookie.
 */
const name = 'tollgate_console_';
const format = /^tollgate_console_\d+=([\w-]{43})$/;

/**
 * The ids of sessions in a request: several where one console is mounted below another, or another
 * server of this host name has set cookies. All are returned, because such a server could otherwise
 * set enough of them to lock the operator out. Node limits the size of the header.
 */
export function sessionIdsIn({ headers }: IncomingMessage): readonly string[] {
  return (headers.cookie ?? '').split(';').flatMap((pair) => format.exec(pair.trim())?.[1] ?? []);
}

/** The cookie of a new session; with the age 0, the cookie that deletes it. */
export function sessionCookie(
  request: IncomingMessage,
  path: string,
  { id, ageMs }: { readonly id: string; readonly ageMs: number },
): string {
  const { localPort = 0 } = request.socket;
  const attributes = `HttpOnly; SameSite=Strict; Path=${path}; Max-Age=${ageMs / 1_000}`;
  return `${name}${localPort}=${id}; ${attributes}${isSecure(request) ? '; Secure' : ''}`;
}

/** Whether the browser uses TLS: with this process, or with a proxy, as its `Origin` says. */
function isSecure({ headers, socket }: IncomingMessage): boolean {
  return Reflect.get(socket, 'encrypted') === true || /^https:/i.test(headers.origin ?? '');
}
