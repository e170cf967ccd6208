/** Finds a request's body where a parser of the host may have read it before the gateway. */
import type { Readable } from 'node:stream';
import type { IncomingHeaders } from '../src/http.ts';

/** What tells whether a body is still unread. */
export interface BodySource extends Readable {
  readonly method?: string | undefined;
  readonly headers: IncomingHeaders;
}

/** What the parsers of a host may have left. */
export interface ParsedBody {
  readonly rawBody?: unknown;
  readonly body?: unknown;
}

/**
 * The body: the unread stream, or what a parser left of it. The stream tells whether one ran, never
 * `req.body`: Express 4 sets `{}` without reading anything.
 */
export function bodyOf(
  req: BodySource,
  { rawBody, body }: ParsedBody,
  warn: (code: string, text: string) => void,
): Readable | Uint8Array | undefined {
  if (!req.readableDidRead && !req.readableEnded) return req;
  const left = bytesOf(rawBody) ?? bytesOf(body);
  if (left !== undefined) return left;
  if (typeof body === 'object' && body !== null && !isPlaceholder(body, req)) {
    warn('TOLLGATE_BODY_PARSED', parsedCure);
    return Buffer.from(JSON.stringify(body));
  }
  if (req.method === 'POST') warn('TOLLGATE_BODY_CONSUMED', consumedCure);
  return undefined;
}

const parsedCure =
  'A body parser ran before the gateway, so that requests are written out again and numbers may lose digits. Mount the gateway before body parsers, or keep the bytes in req.rawBody.';
const consumedCure =
  'A middleware read the request body before the gateway and left nothing of it. Mount the gateway before body parsers, or keep the bytes in req.rawBody.';

function bytesOf(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  return typeof value === 'string' ? Buffer.from(value) : undefined;
}

/** `{}` that stands for a body somebody else read. */
function isPlaceholder(body: object, { headers }: BodySource): boolean {
  return Object.keys(body).length === 0 && Number(headers['content-length'] ?? 0) > 2;
}

/** A process warning, each code once in an adapter's life. */
export function warnOnce(): (code: string, text: string) => void {
  const said = new Set<string>();
  return (code, text) => {
    if (said.has(code)) return;
    said.add(code);
    process.emitWarning(text, { code });
  };
}
