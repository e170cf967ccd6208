/**
 * Refuses requests for other host names. A page of an attacker can let its own name resolve to
 * 127.0.0.1 (DNS rebinding), and would then have the same origin as a console or an admin interface
 * that listens there.
 */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { AdminError } from '../admin-error.ts';

const aHost = 'must be a host name without scheme, port, brackets or wildcard: gateway.example';
const hostShape = /^(?:[\w.-]+|[\da-f]*:[\da-f:.]*)$/i;

export const hostNames: z.ZodType<readonly string[] | undefined> = z
  .array(z.string(aHost).regex(hostShape, aHost))
  .min(1, 'must have a name')
  .optional();

/**
 * Checks that the `Host` of a request is one of `hosts`. Without them any host is allowed; on a
 * loopback address only `localhost` and loopback addresses.
 *
 * @throws AdminError `cross_origin`
 */
export function checkHost(request: IncomingMessage, hosts: readonly string[] | undefined): void {
  if (hosts === undefined && !isLoopback(request.socket.localAddress ?? '')) return;
  const { host = request.headers[':authority'] } = request.headers;
  const name = typeof host === 'string' ? hostNameOf(host) : undefined;
  const isOurs =
    hosts?.some((own) => own.toLowerCase() === name) ??
    (name === 'localhost' || isLoopback(name ?? ''));
  if (isOurs) return;
  throw new AdminError(
    'cross_origin',
    'There is no answer to this host name here. Use localhost or 127.0.0.1, or add the name to ' +
      'the option hosts.',
  );
}

/** `Localhost:8787` is `localhost`, `[::1]:8787` is `::1`. */
function hostNameOf(host: string): string | undefined {
  const found = /^(?:\[([\da-f:.]+)\]|([\w.-]+))(?::\d{1,5})?$/i.exec(host);
  return (found?.[1] ?? found?.[2])?.toLowerCase();
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/i.test(address);
}
