/** Gets the body of a request that the host's middleware may have read. Not an entry point. */
import { Readable } from 'node:stream';
import type { GatewayRequest } from '../src/http.ts';
import { type HostRequest, type HostResponse, isGone, memberOf, type ParsedBody } from './host.ts';

/** Emits a process warning, each code once. */
export type Warn = (code: string, message: string) => void;

/** The warnings of one adapter. Each is emitted once, not with every request. */
export function warnOnce(): Warn {
  const emitted = new Set<string>();
  return (code, message) => {
    if (emitted.has(code)) return;
    emitted.add(code);
    process.emitWarning(message, { type: 'TollgateWarning', code });
  };
}

/**
 * The unread stream, or else the body that a parser left: bytes, an object, or a stream that it has
 * decompressed. Only the request's stream shows whether a parser ran: Express 4 sets `req.body` to
 * `{}` without reading a byte.
 */
export function bodyOf(
  req: HostRequest,
  res: HostResponse,
  { body, rawBody }: ParsedBody,
  warn: Warn,
): GatewayRequest['body'] {
  if (req.method === 'GET' || req.method === 'HEAD') return new Uint8Array();
  if (body instanceof Readable) return body;
  if (!req.readableDidRead && !req.readableEnded && !req.destroyed) return req;

  const bytes = bytesOf(rawBody) ?? bytesOf(body);
  if (bytes !== undefined) return bytes;
  const serialized = isPlaceholder(body, req) ? undefined : jsonBytes(body);
  if (serialized !== undefined) {
    warn('TOLLGATE_BODY_REWRITTEN', bodyRewritten);
    return serialized;
  }
  // A caller that disconnected before or while its body was read is not a mistake of the host; the
  // gateway sees from the stream that the body is incomplete.
  if (!req.readableDidRead || isGone(res)) return req;
  warn('TOLLGATE_BODY_CONSUMED', bodyConsumed);
  return undefined;
}

const bodyRewritten =
  'A body parser of the host ran before the gateway, so JSON bodies are written out again and ' +
  'numbers such as 1.0 or 12345678901234567890 may change. Mount the gateway before the parser ' +
  'to keep the bytes exact.';

const bodyConsumed =
  'Middleware of the host read a request body before the gateway and left nothing of it, so the ' +
  'call could not be answered. Mount the gateway before that middleware, or have it keep the ' +
  'bytes as rawBody.';

function bytesOf(value: unknown): Uint8Array | undefined {
  if (typeof value === 'string') return Buffer.from(value);
  return value instanceof Uint8Array ? value : undefined;
}

/**
 * Whether the parsed body is `{}` although the request had a longer one, which other middleware
 * read.
 */
function isPlaceholder(body: unknown, { headers }: HostRequest): boolean {
  if (typeof body !== 'object' || body === null || Object.keys(body).length > 0) return false;
  return Number(headers['content-length'] ?? 0) > 2;
}

function jsonBytes(value: unknown): Uint8Array | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  try {
    return bytesOf(serialize(value));
  } catch {
    // A parser result with bigints or cycles can't be serialised.
    return undefined;
  }
}

function serialize(value: object): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // JSON.stringify overflows the stack for bodies nested thousands of levels deep. That is the
    // caller's mistake, and the truncated body is still deeper than the gateway allows.
    if (memberOf(error, 'name') === 'RangeError')
      return JSON.stringify(value, nullsBelow(deeperThanAllowed));
    throw error;
  }
}

/** More than the 64 levels that the gateway accepts. */
const deeperThanAllowed = 128;

type Replacer = (this: unknown, name: string, value: unknown) => unknown;

/** Replaces every value below this depth by `null`. */
function nullsBelow(maxDepth: number): Replacer {
  const depths = new Map<unknown, number>();
  return function replace(_name, value) {
    if (typeof value !== 'object' || value === null) return value;
    const depth = (depths.get(this) ?? 0) + 1;
    depths.set(value, depth);
    return depth > maxDepth ? null : value;
  };
}
