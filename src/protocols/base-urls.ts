/** What paths tell about the base URL of a client, and about the mount. */
import type { GatewayRequest } from '../http.ts';
import { isLikeOwnSecret } from '../secret.ts';
import type { CallRoute } from './protocol.ts';
import type { MisplacedPath } from './resources.ts';

/**
 * The prefix of the mount; empty if there is none, or if the caller may have chosen a part of it:
 * error messages repeat only short and plain text.
 */
export function mountPrefix({
  target = '',
  path,
}: Pick<GatewayRequest, 'target' | 'path'>): string {
  const [full = ''] = target.split('?', 1);
  const prefix = full.endsWith(path) ? full.slice(0, -path.length) : '';
  const isPlain = /^(?:\/[A-Za-z0-9._~-]+)+$/.test(prefix) && prefix.length <= 64;
  return isPlain && !isLikeOwnSecret(prefix) ? prefix : '';
}

/** Where people look whether the gateway runs. */
export function isRoot(path: string, method: string): boolean {
  return (method === 'GET' || method === 'HEAD') && /^\/(?:v1\/?|v1beta\/?)?$/.test(path);
}

/**
 * What `POST /v1/messages/v1/messages` was meant to be, the call of a client whose base URL has the
 * path of one already; undefined for other requests.
 */
export function doubledCall(
  { method, path }: Pick<GatewayRequest, 'method' | 'path'>,
  calls: ReadonlyMap<string, CallRoute>,
): MisplacedPath | undefined {
  if (method !== 'POST' || !path.startsWith('/v1/')) return undefined;
  for (const before of calls.keys()) {
    if (!path.startsWith(`${before}/`)) continue;
    const after = path.slice(before.length);
    for (const intended of [after, `/v1${after}`]) {
      const route = calls.get(intended);
      if (route === undefined) continue;
      return { resource: { at: 'call', route }, requested: path, intended, fault: 'whole' };
    }
  }
  return undefined;
}
