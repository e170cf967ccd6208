/** What is left of a request's body when the gateway's turn comes. Not an entry point. */
import type { GatewayRequest } from '../src/http.ts';
import { type HostRequest, type HostResponse, isGone, type ParsedBody } from './host.ts';

/** Emits a process warning, each code once. */
export type Warn = (code: string, message: string) => void;

/** One adapter's warnings: a mistake in a host's set-up is told once, not with every request. */
export function warnOnce(): Warn {
  const told = new Set<string>();
  return (code, message) => {
    if (told.has(code)) return;
    told.add(code);
    process.emitWarning(message, { type: 'TollgateWarning', code });
  };
}

/**
 * The unread stream, else what a parser left. The stream alone tells whether one ran: Express 4
 * puts `{}` into `req.body` without having read a byte (SECURITY T38).
 */
export function bodyOf(
  req: HostRequest,
  res: HostResponse,
  { body, rawBody }: ParsedBody,
  warn: Warn,
): GatewayRequest['body'] {
  if (req.method === 'GET' || req.method === 'HEAD') return new Uint8Array();
  if (!req.readableDidRead && !req.readableEnded && !req.destroyed) return req;

  const bytes = bytesOf(rawBody) ?? bytesOf(body);
  if (bytes !== undefined) return bytes;
  const written = isPlaceholder(body, req) ? undefined : jsonBytes(body);
  if (written !== undefined) {
    warn('TOLLGATE_BODY_REWRITTEN', rewritten);
    return written;
  }
  // A caller that hung up before its body was read, or while the host was reading it, is no mistake
  // of the host; the gateway sees from the stream that it broke off.
  if (!req.readableDidRead || isGone(res)) return req;
  warn('TOLLGATE_BODY_CONSUMED', consumed);
  return undefined;
}

const rewritten =
  'A body parser of the host ran before the gateway, so JSON bodies are written out again and ' +
  'numbers such as 1.0 or 12345678901234567890 may change. Mount the gateway before the parser ' +
  'to keep the bytes exact.';

const consumed =
  'Middleware of the host read a request body before the gateway and left nothing of it, so the ' +
  'call could not be answered. Mount the gateway before that middleware, or have it keep the ' +
  'bytes as rawBody.';

function bytesOf(value: unknown): Uint8Array | undefined {
  if (typeof value === 'string') return Buffer.from(value);
  return value instanceof Uint8Array ? value : undefined;
}

/** `{}` that stands for a body which somebody else read. */
function isPlaceholder(body: unknown, { headers }: HostRequest): boolean {
  if (typeof body !== 'object' || body === null || Object.keys(body).length > 0) return false;
  return Number(headers['content-length'] ?? 0) > 2;
}

function jsonBytes(value: unknown): Uint8Array | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  try {
    return bytesOf(writtenOut(value));
  } catch {
    // A parser that makes bigints or cycles leaves nothing that can be written out again.
    return undefined;
  }
}

function writtenOut(value: object): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // The stack of JSON.stringify is too small for a body that is nested some thousand levels deep.
    // It is the caller's mistake, and what is left of it is still deeper than the gateway allows.
    if (error instanceof RangeError) return JSON.stringify(value, nullsBelow(deeperThanAllowed));
    throw error;
  }
}

/** More than the 64 levels that the gateway's scan lets pass. */
const deeperThanAllowed = 128;

type Replacer = (this: unknown, name: string, value: unknown) => unknown;

/** Makes `null` of every value that lies deeper than so many levels. */
function nullsBelow(maxDepth: number): Replacer {
  const depths = new Map<unknown, number>();
  return function replace(_name, value) {
    if (typeof value !== 'object' || value === null) return value;
    const depth = (depths.get(this) ?? 0) + 1;
    depths.set(value, depth);
    return depth > maxDepth ? null : value;
  };
}
