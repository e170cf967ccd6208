/** The target of a request as its caller sent it, wherever the host has mounted the handler. */
import type { IncomingMessage } from 'node:http';

export interface Target {
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
}

/** As the caller sent it; Express removes the path of the mount from `url`. */
export function targetOf(request: IncomingMessage): Target {
  const original: unknown = Reflect.get(request, 'originalUrl');
  const url = typeof original === 'string' ? original : (request.url ?? '');
  const end = url.indexOf('?');
  return end === -1
    ? { path: url, query: '' }
    : { path: url.slice(0, end), query: url.slice(end + 1) };
}
