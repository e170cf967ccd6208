/**
 * Tells the gateway the address of a caller, for the limit of invalid keys: in a header that
 * `serve` sets itself, replacing what the caller sent under this name.
 */
import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import type { FailedKeyLimit } from '../ports/failed-key-limit.ts';
import type { FailedKeyLimitConfig } from './config/config.ts';

const header = 'x-tollgate-caller-address';

export function failedKeyLimit({
  perMinute,
}: Pick<FailedKeyLimitConfig, 'perMinute'>): FailedKeyLimit {
  return {
    addressOf: ({ headers }) => {
      const address = headers[header];
      return typeof address === 'string' ? address : undefined;
    },
    perMinute,
  };
}

export function setCallerAddress(
  request: IncomingMessage,
  { proxies }: Pick<FailedKeyLimitConfig, 'proxies'> = { proxies: 0 },
): void {
  const address = addressOf(request, proxies);
  if (address === undefined) delete request.headers[header];
  else request.headers[header] = network(address);
}

/**
 * The address of the caller. Each proxy appends the address that it sees, so the caller's is number
 * `proxies` from the end; the caller may have invented those before it. With a shorter list, the
 * request did not pass all proxies, and the address of the socket counts.
 */
function addressOf({ headers, socket }: IncomingMessage, proxies: number): string | undefined {
  const added = headers['x-forwarded-for'];
  const list = (Array.isArray(added) ? added.join(',') : (added ?? '')).split(',');
  const named = proxies === 0 ? undefined : list.at(-proxies)?.trim();
  return named === undefined || named === '' ? socket.remoteAddress : withoutPort(named);
}

/** Some proxies append the port, which is another one for each connection. */
function withoutPort(named: string): string {
  const bare = named.replaceAll('"', '');
  const [, bracketed, plain] = /^(?:\[([^\]]+)\]|([^:]+))(?::\w+)?$/.exec(bare) ?? [];
  return bracketed ?? plain ?? bare;
}

/** An IPv6 caller often has a whole /64 network, so all its addresses count as one. */
function network(address: string): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail] = (address.split('%')[0] ?? '').toLowerCase().split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length;
  const groups = [...first, ...Array.from({ length: Math.max(0, zeros) }, () => '0'), ...last];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
