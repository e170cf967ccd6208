/** Reads the JSON body of a change, within a limit. */
import type { IncomingMessage } from 'node:http';
import { AdminError } from '../admin-error.ts';

/** The largest body of a change, in bytes. */
const maxBodyBytes = 65_536;

/**
 * The parsed body. A body that a parser of the host has read is taken from `request.body`; one that
 * was read and left nowhere is refused, because a change without its body could be another change.
 *
 * @throws AdminError `body_too_large`, `invalid_request`
 */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const stated = Number(request.headers['content-length'] ?? 0);
  if (stated > maxBodyBytes) throw tooLarge();
  if (request.readableDidRead) return parsedBefore(Reflect.get(request, 'body'));
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    const piece = Buffer.from(chunk);
    bytes += piece.length;
    if (bytes > maxBodyBytes) throw tooLarge();
    chunks.push(piece);
  }
  return parsed(Buffer.concat(chunks));
}

/** What a parser of JSON, of text or of bytes has left. */
function parsedBefore(body: unknown): unknown {
  if (typeof body === 'string') return parsed(Buffer.from(body));
  if (Buffer.isBuffer(body)) return parsed(body);
  if (body !== undefined) return body;
  throw new AdminError(
    'invalid_request',
    'A parser of this host has read the body. Mount the admin handler before it, or set body of ' +
      'the request of node:http to what it read.',
  );
}

function parsed(bytes: Buffer): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text === '' ? {} : JSON.parse(text);
  } catch {
    throw new AdminError('invalid_request', 'The body is not valid JSON in UTF-8.');
  }
}

function tooLarge(): AdminError {
  return new AdminError('body_too_large', `The body may have ${maxBodyBytes} bytes at most.`);
}
