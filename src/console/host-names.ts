/**
 * Refuses requests for other host names. A page of an attacker can let its own name resolve to
 * 127.0.0.1 (DNS rebinding), and would then have the same origin as a console that listens there.
 */
import type { IncomingMessage } from 'node:http';

/**
 * Whether a console may answer this request: its `Host` is one of `names`. Without names, any host
 * is allowed; on a loopback address only `localhost` and loopback addresses.
 */
export function isOwnHost(request: IncomingMessage, names: readonly string[] | undefined): boolean {
  const { host = request.headers[':authority'] } = request.headers;
  const name = typeof host === 'string' ? hostNameOf(host) : undefined;
  if (names !== undefined) return name !== undefined && names.includes(name);
  if (!isLoopback(request.socket.localAddress ?? '')) return true;
  return name === 'localhost' || (name !== undefined && isLoopback(name));
}

/** `Localhost:8787` is `localhost`, `[::1]:8787` is `::1`. */
function hostNameOf(host: string): string | undefined {
  const found = /^(?:\[([\da-f:.]+)\]|([\w.-]+))(?::\d{1,5})?$/i.exec(host);
  return (found?.[1] ?? found?.[2])?.toLowerCase();
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/i.test(address);
}
